// SPDX-License-Identifier: Apache-2.0
#include "tests/support/picture_files.h"

#include <webp/decode.h>
#include <webp/encode.h>
#include <zlib.h>

#include <fstream>

#include "lockstep/error.h"

namespace lockstep::testing {
namespace {

std::string number(uint32_t value, int bytes, bool big_endian) {
  std::string text;
  for (int i = 0; i < bytes; ++i)
    text += static_cast<char>(value >> 8 * (big_endian ? bytes - 1 - i : i) & 0xFF);
  return text;
}
std::string big(uint32_t value, int bytes = 4) { return number(value, bytes, true); }
std::string little(uint32_t value, int bytes = 4) { return number(value, bytes, false); }

std::string taken(uint8_t* bytes, std::size_t size) {
  check(size > 0, "libwebp wrote nothing");
  std::string text(reinterpret_cast<const char*>(bytes), size);
  WebPFree(bytes);
  return text;
}

std::string webp_chunk(const std::string& letters, const std::string& data) {
  return letters + little(static_cast<uint32_t>(data.size())) + data +
         std::string(data.size() % 2, '\0');
}

}  // namespace

void put_file(const std::string& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary);
  file << bytes << std::flush;
  check(file.good(), "cannot write '", path, "'");
}

std::string exif_block(uint32_t orientation, const ExifOptions& options) {
  const auto put = [&](uint32_t value, int bytes) {
    return number(value, bytes, options.big_endian);
  };
  const auto entry = [&](uint32_t tag, uint32_t type, uint32_t count, const std::string& value) {
    return put(tag, 2) + put(type, 2) + put(count, 4) + value;
  };
  const bool is_short = options.type == 3;
  const std::string value =
      is_short ? put(orientation, 2) + std::string(2, '\0') : put(orientation, 4);
  return std::string(options.big_endian ? "MM" : "II") + put(42, 2) + put(8, 4) + put(3, 2) +
         entry(0x10F, 2, 3, "Me" + std::string(2, '\0')) +
         entry(0x112, options.type, options.count, value) +
         entry(0x128, 3, 1, put(2, 2) + std::string(2, '\0')) + put(0, 4);
}

std::string jpeg_with_exif(const std::string& jpeg, const std::string& block) {
  const std::string start("Exif\0\0", 6);
  const std::string data = block.starts_with(start) ? block : start + block;
  std::string text = jpeg;
  text.insert(2, "\xFF\xE1" + big(static_cast<uint32_t>(data.size() + 2), 2) + data);
  return text;
}

std::string webp_with_exif(const std::string& webp, const std::string& block, bool flag) {
  const std::string image = webp.substr(12);
  int width = 0, height = 0;
  check(
      WebPGetInfo(reinterpret_cast<const uint8_t*>(webp.data()), webp.size(), &width, &height) != 0,
      "no WebP");
  const std::string chunks =
      webp_chunk("VP8X", little(flag ? 8 : 0) + little(static_cast<uint32_t>(width - 1), 3) +
                             little(static_cast<uint32_t>(height - 1), 3)) +
      image + webp_chunk("EXIF", block);
  return "RIFF" + little(static_cast<uint32_t>(chunks.size() + 4)) + "WEBP" + chunks;
}

std::string png_chunk(const std::string& letters, const std::string& data) {
  const std::string body = letters + data;
  const auto sum =
      crc32(0, reinterpret_cast<const Bytef*>(body.data()), static_cast<uInt>(body.size()));
  return big(static_cast<uint32_t>(data.size())) + body + big(static_cast<uint32_t>(sum));
}

std::string png_with(const std::string& png, const std::string& chunk, bool at_end) {
  constexpr std::size_t kHeader = 33, kEnd = 12;
  std::string text = png;
  text.insert(at_end ? png.size() - kEnd : kHeader, chunk);
  return text;
}

std::string png_of_raw(const RawPng& raw) {
  uLongf size = compressBound(static_cast<uLong>(raw.rows.size()));
  std::string packed(size, '\0');
  compress(reinterpret_cast<Bytef*>(packed.data()), &size,
           reinterpret_cast<const Bytef*>(raw.rows.data()), static_cast<uLong>(raw.rows.size()));
  packed.resize(size);
  const std::string header = big(raw.width) + big(raw.height) + static_cast<char>(raw.bits) +
                             static_cast<char>(raw.colour) + std::string(2, '\0') +
                             static_cast<char>(raw.interlaced);
  return "\x89PNG\r\n\x1A\n" + png_chunk("IHDR", header) + raw.chunks + png_chunk("IDAT", packed) +
         png_chunk("IEND", "");
}

std::string webp_of(const Image& image, bool lossless) {
  uint8_t* bytes = nullptr;
  const auto width = static_cast<int>(image.width), height = static_cast<int>(image.height);
  const std::size_t size =
      lossless ? WebPEncodeLosslessRGB(image.rgb.data(), width, height, 3 * width, &bytes)
               : WebPEncodeRGB(image.rgb.data(), width, height, 3 * width, 90, &bytes);
  return taken(bytes, size);
}

std::string webp_with_alpha(const Image& image) {
  std::vector<uint8_t> rgba;
  for (std::size_t i = 0; i < image.rgb.size() / 3; ++i) {
    rgba.insert(rgba.end(), &image.rgb[3 * i], &image.rgb[3 * i] + 3);
    rgba.push_back(static_cast<uint8_t>(i % 256));
  }
  WebPConfig config;
  WebPPicture picture;
  WebPMemoryWriter writer;
  check(WebPConfigInit(&config) && WebPPictureInit(&picture), "another libwebp");
  config.lossless = 1;
  config.exact = 1;  // keeps the colours of transparent pixels
  picture.use_argb = 1;
  picture.width = static_cast<int>(image.width);
  picture.height = static_cast<int>(image.height);
  WebPMemoryWriterInit(&writer);
  picture.writer = WebPMemoryWrite;
  picture.custom_ptr = &writer;
  const bool done = WebPPictureImportRGBA(&picture, rgba.data(), 4 * picture.width) != 0 &&
                    WebPEncode(&config, &picture) != 0;
  WebPPictureFree(&picture);
  check(done, "libwebp wrote nothing");
  return taken(writer.mem, writer.size);
}

std::string bmp_of_parts(const BmpParts& parts) {
  const auto width = static_cast<uint32_t>(parts.width),
             height = static_cast<uint32_t>(parts.height);
  const auto bits = static_cast<uint32_t>(parts.bits);
  std::string second = little(parts.header);
  if (parts.header == 12) {
    second += little(width, 2) + little(height, 2) + little(1, 2) + little(bits, 2);
  } else {
    second += little(width) + little(height) + little(1, 2) + little(bits, 2) +
              little(parts.compression) + little(static_cast<uint32_t>(parts.pixels.size())) +
              little(2835) + little(2835) + little(parts.colours) + little(0);
    for (const uint32_t mask : parts.masks) second += little(mask);
    if (second.size() < parts.header) second.resize(parts.header);
  }
  second += parts.palette;
  const auto offset = static_cast<uint32_t>(14 + second.size());
  return "BM" + little(offset + static_cast<uint32_t>(parts.pixels.size())) + little(0) +
         little(offset) + second + parts.pixels;
}

std::string bmp_of(const Image& image) {
  std::string pixels;
  for (int64_t y = image.height; y-- > 0;) {
    for (int64_t x = 0; x < image.width; ++x)
      for (int64_t c = 3; c-- > 0;)
        pixels +=
            static_cast<char>(image.rgb[static_cast<std::size_t>(3 * (y * image.width + x) + c)]);
    pixels.resize((pixels.size() + 3) / 4 * 4);
  }
  return bmp_of_parts({.height = image.height, .width = image.width, .pixels = pixels});
}

}  // namespace lockstep::testing
