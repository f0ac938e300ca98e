// SPDX-License-Identifier: Apache-2.0
// Reads the headers of a BMP file.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "data/formats/picture_file.h"

namespace lockstep {

// Reads a little-endian number of one, two or four bytes.
uint32_t little_endian(std::string_view bytes, uint64_t at, unsigned count);

struct BmpLayout {
  enum Packing : uint8_t { kPlain, kRuns8, kRuns4, kMasks };

  int64_t height = 0, width = 0;
  bool top_down = false;
  int bits = 0;  // bits per pixel
  Packing packing = kPlain;
  uint64_t pixels = 0;                // offset of the pixels
  std::array<uint32_t, 3> masks{};    // masks of red, green and blue, for 16 and 32 bits
  uint64_t palette = 0, colours = 0;  // offset and number of entries
  unsigned entry_bytes = 4;           // blue, green, red and usually an unused byte
  bool has_palette() const { return bits <= 8; }
};

// Throws for a damaged file or an unsupported kind of BMP. The error names the file and the kind.
BmpLayout bmp_layout(const PictureFile& file);

}  // namespace lockstep
