// Pictures from files: JPEG (libjpeg-turbo) and PNG (libpng), told apart by their first bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep {

struct Image {
  int64_t height = 0;
  int64_t width = 0;
  std::vector<uint8_t> rgb;  // row by row, three bytes a pixel
};

// Grey, palette, CMYK and 16-bit pictures become 8-bit RGB; transparency is laid over black. Throws
// naming the file when it is damaged, truncated or of another kind.
Image read_image(const std::string& path);

// The bytes of a PNG file.
std::string png_of(const Image& image);

}  // namespace lockstep
