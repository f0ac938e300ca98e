// SPDX-License-Identifier: Apache-2.0
// Files of pictures with the bytes that other programs write, in memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/image.h"

namespace lockstep::testing {

// Writes a file without the sync of write_file().
void put_file(const std::string& path, const std::string& bytes);

// ---- EXIF
struct ExifOptions {
  bool big_endian = false;
  uint16_t type = 3;  // a 16-bit number
  uint32_t count = 1;
};
// Three entries; the second entry is the orientation.
std::string exif_block(uint32_t orientation, const ExifOptions& options = {});
std::string jpeg_with_exif(const std::string& jpeg, const std::string& block);
std::string webp_with_exif(const std::string& webp, const std::string& block, bool flag = true);

// ---- PNG
std::string png_chunk(const std::string& letters, const std::string& data);
// Inserts the chunk after the header or after the pixels.
std::string png_with(const std::string& png, const std::string& chunk, bool at_end = false);
struct RawPng {
  uint32_t height = 1, width = 1;
  int bits = 8, colour = 0;  // grey 0, RGB 2, palette 3, grey and alpha 4, RGBA 6
  std::string rows = {};     // each row begins with its filter
  std::string chunks = {};   // between header and pixels
  bool interlaced = false;
};
std::string png_of_raw(const RawPng& raw);

// ---- WebP
std::string webp_of(const Image& image, bool lossless);
// A lossless file with transparency: the alpha of pixel n is n % 256.
std::string webp_with_alpha(const Image& image);

// ---- BMP
struct BmpParts {
  int64_t height = 1, width = 1;  // a negative height: top-down rows
  int bits = 24;
  uint32_t compression = 0;
  std::string pixels = {};
  std::string palette = {};  // entries of four bytes, or three in OS/2's files
  uint32_t colours = 0;
  uint32_t header = 40;  // the size of the second header
  std::vector<uint32_t> masks = {};
};
std::string bmp_of_parts(const BmpParts& parts);
std::string bmp_of(const Image& image);  // 24 bits

}  // namespace lockstep::testing
