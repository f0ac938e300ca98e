// SPDX-License-Identifier: Apache-2.0
// A picture as its file holds it.
#pragma once

#include <cstdint>
#include <string>

namespace lockstep {

struct PictureFile {
  std::string path;  // for errors
  std::string bytes;
};

// Read without decoding a pixel. A small header can claim any size.
struct PictureHeader {
  int64_t height = 0, width = 0;  // as stored
  int64_t bytes_per_pixel = 3;    // of the memory that decoding takes
  int orientation = 1;            // by EXIF (exif.h)
};

}  // namespace lockstep
