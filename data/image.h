// SPDX-License-Identifier: Apache-2.0
// Pictures, read from files of any format of formats/formats.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/formats/picture_file.h"

namespace lockstep {

struct Image {
  int64_t height = 0;
  int64_t width = 0;
  std::vector<uint8_t> rgb;  // row by row, three bytes per pixel
};

// Grey, palette and CMYK images become RGB. Of 16 bits the higher byte is taken; transparency and
// gAMA are ignored. PIL's convert("RGB") and torchvision give the same values.
// The picture is turned as its EXIF block says, if there is one that is whole.
// Throws naming the file if it is damaged, truncated or of another kind.
Image read_image(const std::string& path);

// Throws as read_image() does for a damaged header, and decodes no pixel. Costs opening the file
// and, for nearly every file, reading 64 KiB.
PictureHeader read_picture_header(const std::string& path);

// As the file stores the picture, and how it should be turned (formats/exif.h).
struct StoredImage {
  Image image;
  int orientation = 1;
};
StoredImage read_stored_image(const std::string& path);

// The bytes of a JPEG file.
std::string jpeg_of(const Image& image, int quality = 95);

// The bytes of a PNG file.
std::string png_of(const Image& image);

}  // namespace lockstep
