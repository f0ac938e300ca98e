// SPDX-License-Identifier: Apache-2.0
// Reads PNG files with libpng.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/formats/picture_file.h"
#include "data/image.h"

namespace lockstep {

bool is_png(std::string_view bytes);
PictureHeader png_header(const PictureFile& file);
Image decode_png(const PictureFile& file);

// The pixels of a grey picture, or the indices of a picture with a palette, as stored: one byte
// each.
struct PngValues {
  int64_t height = 0, width = 0;
  std::vector<uint8_t> values;  // row by row
};
// Throws for colours without a palette and for 16 bits.
PngValues decode_png_values(const PictureFile& file);
// Encodes values as indices of a palette: red, green and blue of each of 256 values.
std::string png_of(const PngValues& values, std::span<const uint8_t, 3 * 256> palette);

}  // namespace lockstep
