// SPDX-License-Identifier: Apache-2.0
// A picture's bytes where augmentation changes them.
#pragma once

#include <cstdint>

namespace lockstep {

// A grey picture has one channel, a coloured picture red, green and blue.
struct BytePicture {
  int64_t channels = 3;
  int64_t height = 0;
  int64_t width = 0;
  uint8_t* bytes = nullptr;  // [channels, height, width]

  int64_t plane() const { return height * width; }
  uint8_t* channel(int64_t c) const { return bytes + c * plane(); }
};

}  // namespace lockstep
