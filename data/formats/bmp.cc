// SPDX-License-Identifier: Apache-2.0
#include "data/formats/bmp.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <vector>

#include "data/formats/bmp_layout.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

// Rows of pixels, in the file's order.
struct Raster {
  std::string_view bytes;
  uint64_t row_bytes = 0;
  int bits = 0;
  std::string_view row(int64_t number) const {
    return bytes.substr(static_cast<uint64_t>(number) * row_bytes);
  }
};

Raster plain_raster(const PictureFile& file, const BmpLayout& layout) {
  const auto bits = static_cast<uint64_t>(layout.width) * static_cast<uint64_t>(layout.bits);
  const uint64_t row_bytes = (bits + 31) / 32 * 4;
  const uint64_t wanted = row_bytes * static_cast<uint64_t>(layout.height - 1) + (bits + 7) / 8;
  const uint64_t there = file.bytes.size() - std::min<uint64_t>(layout.pixels, file.bytes.size());
  check(there >= wanted, file.path, ": a BMP file that is cut off: ", there, " of ", wanted,
        " bytes of pixels");
  return {std::string_view(file.bytes).substr(layout.pixels), row_bytes, layout.bits};
}

// Decodes run lengths. Each pair of bytes is a count and a colour (RLE4: two alternating colours),
// or 0 and a command.
class Runs {
 public:
  Runs(std::string_view code, const BmpLayout& layout)
      : code_(code),
        layout_(layout),
        short_(layout.packing == BmpLayout::kRuns4),
        cells_(layout.height * layout.width) {}

  // Pixels that the code skips have colour 0. Returns false if the code ends before the picture.
  bool unpack() {
    while (y_ < layout_.height && at_ + 2 <= code_.size()) {
      const unsigned count = byte(at_), value = byte(at_ + 1);
      at_ += 2;
      if (count > 0) {
        for (unsigned i = 0; i < count; ++i) put(short_ ? nibble(value, i) : value);
      } else if (value == kEndOfLine) {
        x_ = 0;
        ++y_;
      } else if (value == kEnd) {
        return true;
      } else if (!(value == kMove ? move() : copy(value))) {
        return false;
      }
    }
    return y_ >= layout_.height || (y_ == layout_.height - 1 && x_ >= layout_.width);
  }

  const std::vector<char>& cells() const { return cells_; }

 private:
  static constexpr unsigned kEndOfLine = 0, kEnd = 1, kMove = 2;

  unsigned byte(std::size_t at) const { return static_cast<uint8_t>(code_[at]); }
  static unsigned nibble(unsigned byte, unsigned i) { return i % 2 == 0 ? byte >> 4 : byte & 15; }

  void put(unsigned colour) {
    if (x_ < layout_.width && y_ < layout_.height)
      cells_[y_ * layout_.width + x_] = static_cast<char>(colour);
    ++x_;
  }

  bool move() {
    if (at_ + 2 > code_.size()) return false;
    x_ += byte(at_);
    y_ += byte(at_ + 1);
    at_ += 2;
    return true;
  }

  bool copy(unsigned count) {
    const std::size_t bytes = short_ ? (count + 1) / 2 : count;
    if (at_ + bytes > code_.size()) return false;
    for (unsigned i = 0; i < count; ++i) put(short_ ? nibble(byte(at_ + i / 2), i) : byte(at_ + i));
    at_ += bytes + bytes % 2;
    return true;
  }

  std::string_view code_;
  const BmpLayout& layout_;
  bool short_;
  std::vector<char> cells_;
  std::size_t at_ = 0;
  int64_t x_ = 0, y_ = 0;
};

using Palette = std::vector<std::array<uint8_t, 3>>;

Palette palette_of(const PictureFile& file, const BmpLayout& layout) {
  Palette palette(layout.colours);
  const char* at = file.bytes.data() + layout.palette;
  for (auto& rgb : palette) {
    rgb = {static_cast<uint8_t>(at[2]), static_cast<uint8_t>(at[1]), static_cast<uint8_t>(at[0])};
    at += layout.entry_bytes;
  }
  return palette;
}

// Returns false for a colour that the palette lacks.
bool write_palette_row(const char* row, unsigned bits, const Palette& palette, uint8_t* rgb,
                       int64_t width) {
  const unsigned mask = (1U << bits) - 1;
  for (int64_t x = 0; x < width; ++x) {
    const auto bit = static_cast<uint64_t>(x) * bits;
    const unsigned colour =
        static_cast<uint8_t>(row[bit / 8]) >> (8 - bits - static_cast<unsigned>(bit % 8)) & mask;
    if (colour >= palette.size()) return false;
    std::memcpy(rgb + 3 * x, palette[colour].data(), 3);
  }
  return true;
}

// Scales a colour's bits to 0..255, rounding down. Uses the highest eight bits of longer values.
uint8_t masked(uint32_t pixel, uint32_t mask) {
  if (mask == 0) return 0;
  const uint64_t value = (pixel & mask) >> std::countr_zero(mask);
  const int width = std::popcount(mask);
  if (width > 8) return static_cast<uint8_t>(value >> (width - 8));
  return static_cast<uint8_t>(value * 255 / ((1U << width) - 1));
}

void write_row(std::string_view row, const BmpLayout& layout, uint8_t* rgb) {
  const auto bytes = static_cast<unsigned>(layout.bits / 8);
  for (int64_t x = 0; x < layout.width; ++x) {
    const uint64_t at = static_cast<uint64_t>(x) * bytes;
    if (layout.bits == 24) {
      for (unsigned c = 0; c < 3; ++c) *rgb++ = static_cast<uint8_t>(row[at + 2 - c]);
    } else {
      const uint32_t pixel = little_endian(row, at, bytes);
      for (const uint32_t mask : layout.masks) *rgb++ = masked(pixel, mask);
    }
  }
}

Image image_of(const Raster& raster, const BmpLayout& layout, const PictureFile& file) {
  Image image{layout.height, layout.width, {}};
  image.rgb.resize(3 * layout.height * layout.width);
  const Palette palette = palette_of(file, layout);
  for (int64_t y = 0; y < layout.height; ++y) {
    const std::string_view row = raster.row(layout.top_down ? y : layout.height - 1 - y);
    uint8_t* const rgb = &image.rgb[3 * layout.width * y];
    if (layout.has_palette())
      check(write_palette_row(row.data(), static_cast<unsigned>(raster.bits), palette, rgb,
                              layout.width),
            file.path, ": a BMP file with a colour that is not among the ", palette.size(),
            " of its palette");
    else
      write_row(row, layout, rgb);
  }
  return image;
}

bool has_runs(const BmpLayout& layout) {
  return layout.packing == BmpLayout::kRuns8 || layout.packing == BmpLayout::kRuns4;
}

}  // namespace

// Also checks the header's size, because a text can begin with "BM".
bool is_bmp(std::string_view bytes) {
  constexpr std::size_t kHeaderSize = 14;
  constexpr uint32_t kLongest = 124;
  return bytes.starts_with("BM") &&
         (bytes.size() < kHeaderSize + 4 || little_endian(bytes, kHeaderSize, 4) <= kLongest);
}

PictureHeader bmp_header(const PictureFile& file) {
  const BmpLayout layout = bmp_layout(file);
  return {
      .height = layout.height, .width = layout.width, .bytes_per_pixel = has_runs(layout) ? 4 : 3};
}

Image decode_bmp(const PictureFile& file) {
  const BmpLayout layout = bmp_layout(file);
  if (!has_runs(layout)) return image_of(plain_raster(file, layout), layout, file);
  const std::string_view bytes = file.bytes;
  const std::string_view code = bytes.substr(std::min<uint64_t>(layout.pixels, bytes.size()));
  // Code may end early and leave the rest blank, so a small file could claim a huge picture.
  // Refuses code with too few bytes for the pixels.
  constexpr int64_t kMostOfAByte = 255 * 255;
  check(layout.height * layout.width / kMostOfAByte <= static_cast<int64_t>(code.size()), file.path,
        ": a BMP file of ", layout.width, " x ", layout.height, " pixels in ", code.size(),
        " bytes");
  Runs runs(code, layout);
  check(runs.unpack(), file.path, ": a BMP file that is cut off (", bytes.size(), " bytes)");
  const std::string_view cells(runs.cells().data(), runs.cells().size());
  return image_of({cells, static_cast<uint64_t>(layout.width), 8}, layout, file);
}

}  // namespace lockstep
