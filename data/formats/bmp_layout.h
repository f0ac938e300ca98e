// SPDX-License-Identifier: Apache-2.0
// The headers of a BMP file.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "data/formats/picture_file.h"

namespace lockstep {

// Numbers of one, two or four bytes, the lowest byte first.
uint32_t little_endian(std::string_view bytes, uint64_t at, unsigned count);

struct BmpLayout {
  enum Packing : uint8_t { kPlain, kRuns8, kRuns4, kMasks };

  int64_t height = 0, width = 0;
  bool top_down = false;
  int bits = 0;  // of a pixel
  Packing packing = kPlain;
  uint64_t pixels = 0;                // where they begin
  std::array<uint32_t, 3> masks{};    // of red, green and blue, in pixels of 16 or 32 bits
  uint64_t palette = 0, colours = 0;  // where it begins; its number of entries
  unsigned entry_bytes = 4;           // blue, green, red, and mostly a byte without a meaning
  bool has_palette() const { return bits <= 8; }
};

// Throws naming the file, and the kind of BMP where Lockstep does not read that kind.
BmpLayout bmp_layout(const PictureFile& file);

}  // namespace lockstep
