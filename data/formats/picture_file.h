// SPDX-License-Identifier: Apache-2.0
// The content of a picture's file.
#pragma once

#include <cstdint>
#include <string>

namespace lockstep {

struct PictureFile {
  std::string path;  // for errors
  std::string bytes;
};

// A picture's header, read without decoding pixels. A small file can claim any size.
struct PictureHeader {
  int64_t height = 0, width = 0;  // as stored
  int64_t bytes_per_pixel = 3;    // memory that decoding needs
  int orientation = 1;            // from EXIF (exif.h)
};

}  // namespace lockstep
