// SPDX-License-Identifier: Apache-2.0
#include "data/formats/jpeg.h"

#include <csetjmp>
#include <cstdio>  // FILE, for jpeglib.h
#include <cstdlib>
#include <memory>
#include <vector>

#include <jpeglib.h>

#include "data/formats/exif.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

// libjpeg reports errors by a callback that must not return.
struct JpegErrors {
  jpeg_error_mgr base;
  std::jmp_buf exit;
  char message[JMSG_LENGTH_MAX] = {};
};

void leave(j_common_ptr info) {
  auto* errors = reinterpret_cast<JpegErrors*>(info->err);
  info->err->format_message(info, errors->message);
  std::longjmp(errors->exit, 1);
}

// Treats warnings (a truncated file, extra bytes) as errors, to avoid training on half an image.
void no_warnings(j_common_ptr info, int level) {
  if (level < 0) leave(info);
}

void from_cmyk(const std::vector<uint8_t>& line, bool inverted, uint8_t* rgb, int64_t width) {
  for (int64_t x = 0; x < width; ++x) {
    const uint8_t* ink = &line[4 * x];
    for (int k = 0; k < 3; ++k) {
      const int colour = inverted ? ink[k] : 255 - ink[k], black = inverted ? ink[3] : 255 - ink[3];
      rgb[3 * x + k] = static_cast<uint8_t>(colour * black / 255);
    }
  }
}

// Finds the EXIF data in the segments before the pixels. A segment is 0xFF, a letter, the size of
// size and data, and data. Letters without data do not occur before the letter of the pixels, which
// ends the search. libjpeg can also keep segments, but copies all segments with a letter.
std::string_view exif_in_segments(std::string_view bytes) {
  constexpr uint8_t kExif = 0xE1, kPixels = 0xDA;
  const auto byte = [&](std::size_t at) { return static_cast<uint8_t>(bytes[at]); };
  for (std::size_t at = 2; at + 4 <= bytes.size() && byte(at) == 0xFF;) {
    const uint8_t letter = byte(at + 1);
    if (letter == 0xFF) {  // padding
      ++at;
      continue;
    }
    if (letter == kPixels) break;
    const std::size_t size = std::size_t{byte(at + 2)} << 8 | byte(at + 3);
    const std::string_view data = bytes.substr(at + 4, size < 2 ? 0 : size - 2);
    if (letter == kExif && data.starts_with("Exif")) return data;
    at += 2 + size;
  }
  return {};
}

// Reads a file. Functions that call libjpeg return false on errors. Data that changes between
// setjmp and longjmp is in the object, because local variables are indeterminate after the jump.
class JpegReader {
 public:
  explicit JpegReader(const PictureFile& file) : file_(file) {
    info_.err = jpeg_std_error(&errors_.base);
    errors_.base.error_exit = leave;
    errors_.base.emit_message = no_warnings;
    jpeg_create_decompress(&info_);
    if (read_header()) return;
    jpeg_destroy_decompress(&info_);  // no destructor runs after a constructor throws
    fail(file_.path, ": ", errors_.message);
  }
  ~JpegReader() { jpeg_destroy_decompress(&info_); }
  JpegReader(const JpegReader&) = delete;

  PictureHeader header() {
    // libjpeg stores images with several scans as 16-bit coefficients until the last scan.
    const bool progressive = jpeg_has_multiple_scans(&info_) == TRUE;
    return {.height = info_.image_height,
            .width = info_.image_width,
            .bytes_per_pixel = progressive ? 9 : 3,
            .orientation = exif_orientation(exif_in_segments(file_.bytes))};
  }

  Image decoded() {
    check(decode(), file_.path, ": ", errors_.message);
    return std::move(image_);
  }

 private:
  bool read_header() {
    if (setjmp(errors_.exit)) return false;
    const auto* bytes = reinterpret_cast<const unsigned char*>(file_.bytes.data());
    jpeg_mem_src(&info_, bytes, file_.bytes.size());
    jpeg_read_header(&info_, TRUE);
    const bool cmyk = info_.jpeg_color_space == JCS_CMYK || info_.jpeg_color_space == JCS_YCCK;
    info_.out_color_space = cmyk ? JCS_CMYK : JCS_RGB;
    return true;
  }

  bool decode() {
    if (setjmp(errors_.exit)) return false;
    const bool cmyk = info_.out_color_space == JCS_CMYK;
    jpeg_start_decompress(&info_);
    image_.height = info_.output_height;
    image_.width = info_.output_width;
    image_.rgb.resize(3 * image_.height * image_.width);
    line_.resize(4 * image_.width);
    while (info_.output_scanline < info_.output_height) {
      const std::size_t row = std::size_t{3} * info_.output_width * info_.output_scanline;
      uint8_t* target = cmyk ? line_.data() : &image_.rgb[row];
      jpeg_read_scanlines(&info_, &target, 1);
      if (cmyk) from_cmyk(line_, info_.saw_Adobe_marker, &image_.rgb[row], image_.width);
    }
    jpeg_finish_decompress(&info_);
    return true;
  }

  const PictureFile& file_;
  jpeg_decompress_struct info_;
  JpegErrors errors_;
  Image image_;
  std::vector<uint8_t> line_;
};

// Returns false if libjpeg fails. libjpeg allocates `bytes` by malloc.
bool encode(jpeg_compress_struct& info, JpegErrors& errors, const Image& image, int quality,
            unsigned char** bytes, unsigned long* size) {
  if (setjmp(errors.exit) != 0) return false;
  jpeg_mem_dest(&info, bytes, size);
  info.image_height = static_cast<JDIMENSION>(image.height);
  info.image_width = static_cast<JDIMENSION>(image.width);
  info.input_components = 3;
  info.in_color_space = JCS_RGB;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, quality, TRUE);
  jpeg_start_compress(&info, TRUE);
  while (info.next_scanline < info.image_height) {
    auto* line =
        const_cast<uint8_t*>(&image.rgb[std::size_t{3} * info.image_width * info.next_scanline]);
    jpeg_write_scanlines(&info, &line, 1);
  }
  jpeg_finish_compress(&info);
  return true;
}

}  // namespace

bool is_jpeg(std::string_view bytes) { return bytes.starts_with("\xFF\xD8\xFF"); }

PictureHeader jpeg_header(const PictureFile& file) { return JpegReader(file).header(); }

Image decode_jpeg(const PictureFile& file) { return JpegReader(file).decoded(); }

std::string jpeg_of(const Image& image, int quality) {
  jpeg_compress_struct info;
  JpegErrors errors;
  info.err = jpeg_std_error(&errors.base);
  errors.base.error_exit = leave;
  jpeg_create_compress(&info);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  const bool done = encode(info, errors, image, quality, &bytes, &size);
  jpeg_destroy_compress(&info);
  const std::unique_ptr<unsigned char, void (*)(void*)> owned(bytes, std::free);
  check(done, "a picture of ", image.width, " x ", image.height,
        " cannot be written: ", errors.message);
  return {reinterpret_cast<const char*>(bytes), size};
}

}  // namespace lockstep
