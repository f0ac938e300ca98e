// SPDX-License-Identifier: Apache-2.0
#include "data/formats/png.h"

#include <png.h>

#include <csetjmp>
#include <cstring>

#include "data/formats/exif.h"
#include "graph/limits.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

// Layout: 8 bytes, then chunks of length, 4 letters, data and checksum. The first chunk is IHDR.
constexpr std::size_t kStart = 8, kSizes = kStart + 8, kHeaderEnd = kStart + 8 + 13 + 4;

int64_t number_at(std::string_view bytes, std::size_t at) {
  int64_t number = 0;
  for (const char byte : bytes.substr(at, 4)) number = number << 8 | static_cast<uint8_t>(byte);
  return number;
}

// Finds the EXIF block, before or after the pixels.
std::string_view exif_in_chunks(std::string_view bytes) {
  constexpr std::size_t kAround = 12;
  for (std::size_t at = kStart; at + kAround <= bytes.size();) {
    const std::size_t size = number_at(bytes, at);
    if (bytes.substr(at + 4, 4) == "eXIf") return bytes.substr(at + 8, size);
    at += kAround + size;
  }
  return {};
}

// Reads a file. Functions that call libpng return false on errors. Data that changes between setjmp
// and longjmp is in the object, because local variables are indeterminate after the jump.
class PngReader {
 public:
  explicit PngReader(const PictureFile& file, bool as_values = false)
      : file_(file), rest_(file.bytes), as_values_(as_values) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, leave, ignore);
    check(png_ != nullptr, file.path, ": libpng cannot be used: ", message_);
    info_ = png_create_info_struct(png_);
  }
  ~PngReader() { png_destroy_read_struct(&png_, &info_, nullptr); }
  PngReader(const PngReader&) = delete;

  Image decoded() {
    check(info_ != nullptr && decode(), file_.path, ": ", message_);
    return std::move(image_);
  }

 private:
  static void leave(png_structp png, png_const_charp message) {
    auto* reader = static_cast<PngReader*>(png_get_error_ptr(png));
    std::strncpy(reader->message_, message, sizeof reader->message_ - 1);
    std::longjmp(reader->exit_, 1);
  }
  static void ignore(png_structp, png_const_charp) {}

  static void read(png_structp png, png_bytep to, std::size_t size) {
    auto* reader = static_cast<PngReader*>(png_get_io_ptr(png));
    if (size > reader->rest_.size()) png_error(png, "read beyond end of data");
    std::memcpy(to, reader->rest_.data(), size);
    reader->rest_.remove_prefix(size);
  }

  bool decode() {
    if (setjmp(exit_)) return false;
    png_set_read_fn(png_, this, read);
    png_set_benign_errors(png_, 1);
    // Reads only header, palette, transparency and pixels. So no text is unpacked, and gAMA and
    // colour profiles do not change pixels.
    png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
    png_read_info(png_, info_);
    as_values_ ? ask_for_values() : ask_for_rgb();
    image_.height = png_get_image_height(png_, info_);
    image_.width = png_get_image_width(png_, info_);
    const std::size_t row = (as_values_ ? 1 : 3) * image_.width;
    if (png_get_rowbytes(png_, info_) != row) png_error(png_, "another number of bytes a pixel");
    image_.rgb.resize(row * image_.height);
    for (int pass = 0; pass < passes_; ++pass)
      for (int64_t y = 0; y < image_.height; ++y) png_read_row(png_, &image_.rgb[row * y], nullptr);
    return true;
  }

  // Converts to 8-bit RGB. Keeps the higher byte of 16 bits. Drops transparency, because the
  // background is unknown.
  void ask_for_rgb() {
    const int colour = png_get_color_type(png_, info_);
    if (colour == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(png_);
    if (colour == PNG_COLOR_TYPE_GRAY) png_set_expand_gray_1_2_4_to_8(png_);
    if ((colour & PNG_COLOR_MASK_COLOR) == 0) png_set_gray_to_rgb(png_);
    png_set_strip_16(png_);
    png_set_strip_alpha(png_);
    passes_ = png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
  }

  // Keeps values of less than 8 bits, unlike pictures, where they become shades.
  void ask_for_values() {
    const int colour = png_get_color_type(png_, info_);
    if (colour != PNG_COLOR_TYPE_PALETTE && (colour & PNG_COLOR_MASK_COLOR) != 0)
      png_error(png_, "a mask should be grey or have a palette; this picture has colours");
    if (png_get_bit_depth(png_, info_) == 16) png_error(png_, "a mask of 16 bits; 8 are the most");
    png_set_packing(png_);
    png_set_strip_alpha(png_);
    passes_ = png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
  }

  const PictureFile& file_;
  std::string_view rest_;
  const bool as_values_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  std::jmp_buf exit_;
  char message_[128] = {};
  int passes_ = 1;
  Image image_;
};

// `palette`: 256 colours, if the format has one.
std::string encoded_png(int64_t height, int64_t width, png_uint_32 format,
                        std::span<const uint8_t> pixels, std::span<const uint8_t> palette) {
  png_image info;
  std::memset(&info, 0, sizeof info);
  info.version = PNG_IMAGE_VERSION;
  info.width = static_cast<png_uint_32>(width);
  info.height = static_cast<png_uint_32>(height);
  info.format = format;
  info.colormap_entries = static_cast<png_uint_32>(palette.size() / 3);
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(info);
  std::string bytes(size, '\0');
  check(png_image_write_to_memory(&info, bytes.data(), &size, 0, pixels.data(), 0,
                                  palette.empty() ? nullptr : palette.data()),
        "a picture of ", width, " x ", height, " cannot be written: ", info.message);
  bytes.resize(size);
  return bytes;
}

}  // namespace

bool is_png(std::string_view bytes) { return bytes.starts_with("\x89PNG\r\n"); }

PictureHeader png_header(const PictureFile& file) {
  const std::string_view bytes = file.bytes;
  check(bytes.size() >= kHeaderEnd && bytes.substr(kStart + 4, 4) == "IHDR", file.path,
        ": a PNG file without a whole header");
  return {.height = number_at(bytes, kSizes + 4),
          .width = number_at(bytes, kSizes),
          .orientation = exif_orientation(exif_in_chunks(bytes))};
}

Image decode_png(const PictureFile& file) { return PngReader(file).decoded(); }

PngValues decode_png_values(const PictureFile& file) {
  check(is_png(file.bytes), file.path, ": a mask should be a PNG file");
  const PictureHeader header = png_header(file);
  constexpr int64_t kMostPixels = int64_t{1} << 30;
  check(header.height > 0 && header.width > 0 && header.height <= kMostPixels / header.width,
        file.path, ": a mask of ", header.width, " x ", header.height, " pixels is too large");
  check_memory(header.height * header.width, file.path);
  Image image = PngReader(file, true).decoded();
  return {image.height, image.width, std::move(image.rgb)};
}

std::string png_of(const Image& image) {
  return encoded_png(image.height, image.width, PNG_FORMAT_RGB, image.rgb, {});
}

std::string png_of(const PngValues& values, std::span<const uint8_t, 3 * 256> palette) {
  return encoded_png(values.height, values.width, PNG_FORMAT_RGB_COLORMAP, values.values, palette);
}

}  // namespace lockstep
