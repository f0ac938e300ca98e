#include "data/image.h"

#include <png.h>

#include <csetjmp>
#include <cstdio>  // FILE, for jpeglib.h
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>

#include <jpeglib.h>

#include "graph/error.h"
#include "graph/file.h"
#include "graph/limits.h"

namespace lockstep {
namespace {

// A small header can claim any size. `each`: bytes per pixel needed to read it.
void check_size(int64_t height, int64_t width, int64_t each, const std::string& path) {
  constexpr int64_t kMost = int64_t{1} << 30;
  check(height > 0 && width > 0 && height <= kMost / each / width, path, ": a picture of ", width,
        " x ", height, " pixels is too large");
  check_memory(static_cast<std::size_t>(height * width * each), path);
}

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

// Treats warnings (a truncated file, extra bytes) as errors: no training on half an image.
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

// Reads into the caller's objects; false if libjpeg failed. Everything that changes between setjmp
// and longjmp is in the caller's frame: locals of this one would be indeterminate after the jump.
bool read_header(const std::string& text, jpeg_decompress_struct& info, JpegErrors& errors,
                 Image& image, bool& progressive) {
  if (setjmp(errors.exit)) return false;
  jpeg_mem_src(&info, reinterpret_cast<const unsigned char*>(text.data()), text.size());
  jpeg_read_header(&info, TRUE);
  const bool cmyk = info.jpeg_color_space == JCS_CMYK || info.jpeg_color_space == JCS_YCCK;
  info.out_color_space = cmyk ? JCS_CMYK : JCS_RGB;
  image.height = info.image_height;
  image.width = info.image_width;
  progressive = jpeg_has_multiple_scans(&info) == TRUE;
  return true;
}

bool decode(jpeg_decompress_struct& info, JpegErrors& errors, Image& image,
            std::vector<uint8_t>& line) {
  if (setjmp(errors.exit)) return false;
  const bool cmyk = info.out_color_space == JCS_CMYK;
  jpeg_start_decompress(&info);
  image.height = info.output_height;
  image.width = info.output_width;
  image.rgb.resize(static_cast<std::size_t>(3 * image.height * image.width));
  line.resize(static_cast<std::size_t>(4 * image.width));
  while (info.output_scanline < info.output_height) {
    uint8_t* row = &image.rgb[3 * static_cast<std::size_t>(image.width) * info.output_scanline];
    uint8_t* target = cmyk ? line.data() : row;
    jpeg_read_scanlines(&info, &target, 1);
    if (cmyk) from_cmyk(line, info.saw_Adobe_marker, row, image.width);
  }
  jpeg_finish_decompress(&info);
  return true;
}

Image read_jpeg(const std::string& text, const std::string& path) {
  jpeg_decompress_struct info;
  JpegErrors errors;
  Image image;
  std::vector<uint8_t> line;
  info.err = jpeg_std_error(&errors.base);
  errors.base.error_exit = leave;
  errors.base.emit_message = no_warnings;
  jpeg_create_decompress(&info);
  try {
    bool progressive = false;
    check(read_header(text, info, errors, image, progressive), path, ": ", errors.message);
    // Images in several scans are kept as 16-bit coefficients until the last one.
    check_size(image.height, image.width, progressive ? 9 : 3, path);
    check(decode(info, errors, image, line), path, ": ", errors.message);
  } catch (...) {
    jpeg_destroy_decompress(&info);
    throw;
  }
  jpeg_destroy_decompress(&info);
  return image;
}

// False if libjpeg failed; `bytes` is malloc's.
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

Image read_png(const std::string& text, const std::string& path) {
  png_image info;
  std::memset(&info, 0, sizeof info);
  info.version = PNG_IMAGE_VERSION;
  check(png_image_begin_read_from_memory(&info, text.data(), text.size()), path, ": ",
        info.message);
  try {
    check_size(info.height, info.width, 3, path);
  } catch (...) {
    png_image_free(&info);
    throw;
  }
  info.format = PNG_FORMAT_RGB;
  Image image{static_cast<int64_t>(info.height), static_cast<int64_t>(info.width), {}};
  image.rgb.resize(PNG_IMAGE_SIZE(info));
  const png_color black{0, 0, 0};
  if (!png_image_finish_read(&info, &black, image.rgb.data(), 0, nullptr)) {
    const std::string message = info.message;
    png_image_free(&info);
    fail(path, ": ", message);
  }
  return image;
}

}  // namespace

Image read_image(const std::string& path) {
  const std::string text = read_file(path);
  const std::string_view bytes = text;
  if (bytes.starts_with("\xFF\xD8\xFF")) return read_jpeg(text, path);
  if (bytes.starts_with("\x89PNG\r\n")) return read_png(text, path);
  fail(path, ": neither a JPEG nor a PNG file (", text.size(), " bytes)");
}

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

std::string png_of(const Image& image) {
  png_image info;
  std::memset(&info, 0, sizeof info);
  info.version = PNG_IMAGE_VERSION;
  info.width = static_cast<png_uint_32>(image.width);
  info.height = static_cast<png_uint_32>(image.height);
  info.format = PNG_FORMAT_RGB;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(info);
  std::string bytes(size, '\0');
  check(png_image_write_to_memory(&info, bytes.data(), &size, 0, image.rgb.data(), 0, nullptr),
        "a picture of ", image.width, " x ", image.height, " cannot be written: ", info.message);
  bytes.resize(size);
  return bytes;
}

}  // namespace lockstep
