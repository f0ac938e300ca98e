// SPDX-License-Identifier: Apache-2.0
#include "data/formats/webp.h"

#include <webp/decode.h>

#include "data/formats/exif.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

const uint8_t* data_of(const PictureFile& file) {
  return reinterpret_cast<const uint8_t*>(file.bytes.data());
}

void check_status(VP8StatusCode status, const PictureFile& file) {
  if (status == VP8_STATUS_OK) return;
  const bool short_file = status == VP8_STATUS_NOT_ENOUGH_DATA || status == VP8_STATUS_SUSPENDED;
  fail(file.path, ": a WebP file that is ", short_file ? "cut off" : "damaged",
       " (libwebp's status ", static_cast<int>(status), ", ", file.bytes.size(), " bytes)");
}

// Layout: "RIFF", size, "WEBP", then chunks of 4 letters, size, data, and a padding byte if the
// size is odd. A flag in the first chunk (VP8X) is set if there is an EXIF chunk.
std::string_view exif_in_container(std::string_view bytes) {
  constexpr std::size_t kFirst = 12, kFlags = kFirst + 8;
  constexpr uint8_t kExif = 8;
  if (bytes.size() <= kFlags || bytes.substr(kFirst, 4) != "VP8X" ||
      (static_cast<uint8_t>(bytes[kFlags]) & kExif) == 0)
    return {};
  for (std::size_t at = kFirst; at + 8 <= bytes.size();) {
    std::size_t size = 0;
    for (std::size_t i = 4; i-- > 0;) size = size << 8 | static_cast<uint8_t>(bytes[at + 4 + i]);
    if (bytes.substr(at, 4) == "EXIF") return bytes.substr(at + 8, size);
    at += 8 + size + size % 2;
  }
  return {};
}

}  // namespace

bool is_webp(std::string_view bytes) {
  return bytes.starts_with("RIFF") && bytes.size() >= 12 && bytes.substr(8, 4) == "WEBP";
}

PictureHeader webp_header(const PictureFile& file) {
  WebPBitstreamFeatures features;
  check_status(WebPGetFeatures(data_of(file), file.bytes.size(), &features), file);
  check(!features.has_animation, file.path,
        ": is an animated WebP file; Lockstep reads still pictures (`webpmux -get frame 1` writes "
        "the first one)");
  // libwebp first unpacks lossless and transparent pictures to four bytes per pixel.
  constexpr int kLossy = 1;
  const bool plain = features.format == kLossy && !features.has_alpha;
  return {.height = features.height,
          .width = features.width,
          .bytes_per_pixel = plain ? 3 : 8,
          .orientation = exif_orientation(exif_in_container(file.bytes))};
}

Image decode_webp(const PictureFile& file) {
  const PictureHeader header = webp_header(file);
  Image image{header.height, header.width, {}};
  image.rgb.resize(3 * header.height * header.width);
  WebPDecoderConfig config;
  check(WebPInitDecoderConfig(&config) != 0, file.path,
        ": libwebp is of another version than Lockstep was built with; build Lockstep again");
  config.output.colorspace = MODE_RGB;  // drops transparency
  config.output.is_external_memory = 1;
  config.output.u.RGBA = {image.rgb.data(), static_cast<int>(3 * image.width), image.rgb.size()};
  check_status(WebPDecode(data_of(file), file.bytes.size(), &config), file);
  return image;
}

}  // namespace lockstep
