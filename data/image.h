// Pictures, read from files of any format of formats/formats.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep {

struct Image {
  int64_t height = 0;
  int64_t width = 0;
  std::vector<uint8_t> rgb;  // row by row, three bytes per pixel
};

// Grey, palette, CMYK and 16-bit images become 8-bit RGB; transparency is composited over black.
// Throws naming the file if it is damaged, truncated or of another kind.
Image read_image(const std::string& path);

// The bytes of a JPEG file.
std::string jpeg_of(const Image& image, int quality = 95);

// The bytes of a PNG file.
std::string png_of(const Image& image);

}  // namespace lockstep
