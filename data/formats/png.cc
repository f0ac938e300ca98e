#include "data/formats/png.h"

#include <png.h>

#include <cstring>

#include "graph/error.h"

namespace lockstep {
namespace {

// 8 bytes, then chunks: length, 4 letters, data, checksum. The first one is IHDR.
constexpr std::size_t kStart = 8, kSizes = kStart + 8, kHeaderEnd = kStart + 8 + 13 + 4;

int64_t number_at(std::string_view bytes, std::size_t at) {
  int64_t number = 0;
  for (const char byte : bytes.substr(at, 4)) number = number << 8 | static_cast<uint8_t>(byte);
  return number;
}

}  // namespace

bool is_png(std::string_view bytes) { return bytes.starts_with("\x89PNG\r\n"); }

PictureHeader png_header(const PictureFile& file) {
  const std::string_view bytes = file.bytes;
  check(bytes.size() >= kHeaderEnd && bytes.substr(kStart + 4, 4) == "IHDR", file.path,
        ": a PNG file without a whole header");
  return {.height = number_at(bytes, kSizes + 4), .width = number_at(bytes, kSizes)};
}

Image decode_png(const PictureFile& file) {
  png_image info;
  std::memset(&info, 0, sizeof info);
  info.version = PNG_IMAGE_VERSION;
  check(png_image_begin_read_from_memory(&info, file.bytes.data(), file.bytes.size()), file.path,
        ": ", info.message);
  info.format = PNG_FORMAT_RGB;
  Image image{static_cast<int64_t>(info.height), static_cast<int64_t>(info.width), {}};
  image.rgb.resize(PNG_IMAGE_SIZE(info));
  const png_color black{0, 0, 0};
  if (!png_image_finish_read(&info, &black, image.rgb.data(), 0, nullptr)) {
    const std::string message = info.message;
    png_image_free(&info);
    fail(file.path, ": ", message);
  }
  return image;
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
