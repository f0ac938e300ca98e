// SPDX-License-Identifier: Apache-2.0
#include "data/formats/exif.h"

#include <algorithm>
#include <cstring>

namespace lockstep {
namespace {

using namespace std::string_view_literals;

// Reads the first directory of an EXIF block, which is a small TIFF file: byte order, the
// directory's offset, and entries of 12 bytes. Offsets may point anywhere. Only the first directory
// is read, so a cycle of directories is harmless.
class Directory {
 public:
  explicit Directory(std::string_view block) : block_(block) {
    if (block_.starts_with("Exif\0\0"sv)) block_.remove_prefix(6);
    big_endian_ = block_.starts_with("MM\0*"sv);
    if (!big_endian_ && !block_.starts_with("II*\0"sv)) block_ = {};
  }

  // Returns 0 if the number extends beyond the block.
  uint32_t number(uint64_t at, unsigned bytes) const {
    if (at + bytes > block_.size()) return 0;
    uint32_t value = 0;
    for (unsigned i = 0; i < bytes; ++i) {
      const auto byte = static_cast<uint8_t>(block_[at + (big_endian_ ? i : bytes - 1 - i)]);
      value = value << 8 | byte;
    }
    return value;
  }

 private:
  std::string_view block_;
  bool big_endian_ = false;
};

}  // namespace

int exif_orientation(std::string_view block) {
  constexpr uint32_t kOrientation = 0x112, kShort = 3, kLong = 4;
  const Directory directory(block);
  const uint64_t first = directory.number(4, 4);
  const uint32_t entries = directory.number(first, 2);
  for (uint32_t i = 0; i < entries; ++i) {
    const uint64_t entry = first + 2 + 12 * uint64_t{i};
    if (directory.number(entry, 2) != kOrientation) continue;
    const uint32_t type = directory.number(entry + 2, 2), count = directory.number(entry + 4, 4);
    if ((type != kShort && type != kLong) || count != 1) return 1;
    const uint32_t value = directory.number(entry + 8, type == kShort ? 2 : 4);
    return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

Image turned(Image image, int orientation) {
  if (orientation == 1) return image;
  const auto mirrors_columns = [&] { return std::strchr("2378", '0' + orientation) != nullptr; };
  const auto mirrors_rows = [&] { return std::strchr("3467", '0' + orientation) != nullptr; };
  // Strides in the stored picture, in bytes: `column` and `row` to the next stored column and row,
  // `right` and `down` to the next pixel of the result.
  const int64_t column = mirrors_columns() ? -3 : 3;
  const int64_t row = (mirrors_rows() ? -3 : 3) * image.width;
  const int64_t start = (mirrors_columns() ? 3 * (image.width - 1) : 0) +
                        (mirrors_rows() ? 3 * image.width * (image.height - 1) : 0);
  const bool swaps = swaps_sides(orientation);
  const int64_t right = swaps ? row : column, down = swaps ? column : row;
  Image result{swaps ? image.width : image.height, swaps ? image.height : image.width, {}};
  result.rgb.resize(image.rgb.size());
  // Copies in squares, because each pixel of a stored column is in another cache line.
  constexpr int64_t kSquare = 32;
  for (int64_t top = 0; top < result.height; top += kSquare)
    for (int64_t left = 0; left < result.width; left += kSquare)
      for (int64_t y = top; y < std::min(top + kSquare, result.height); ++y)
        for (int64_t x = left; x < std::min(left + kSquare, result.width); ++x)
          std::memcpy(&result.rgb[3 * (y * result.width + x)],
                      &image.rgb[start + y * down + x * right], 3);
  return result;
}

}  // namespace lockstep
