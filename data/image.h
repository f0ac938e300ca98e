// SPDX-License-Identifier: Apache-2.0
// Reads pictures from files in the formats of formats/formats.h.
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

// Converts grey, palette and CMYK images to RGB. Keeps the higher byte of 16 bits. Ignores
// transparency and gAMA. PIL's convert("RGB") and torchvision give the same values. Turns the
// picture by its EXIF orientation, unless the EXIF block is damaged. Throws an error with the
// file's name if the file is damaged, truncated or of another format.
Image read_image(const std::string& path);

// Reads the header without decoding pixels. Throws as read_image() does. Usually reads at most 64
// KiB of the file.
PictureHeader read_picture_header(const std::string& path);

// The picture as stored in the file, and its EXIF orientation (formats/exif.h).
struct StoredImage {
  Image image;
  int orientation = 1;
};
StoredImage read_stored_image(const std::string& path);

// Encodes a JPEG file.
std::string jpeg_of(const Image& image, int quality = 95);

// Encodes a PNG file.
std::string png_of(const Image& image);

}  // namespace lockstep
