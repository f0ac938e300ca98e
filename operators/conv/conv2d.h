// SPDX-License-Identifier: Apache-2.0
// The numbers of a convolution of images in one group. Files that are compiled for one kind of
// processor include this header, so nothing of the standard library may be used here. Nor may such
// files call the functions below: the linker could give one processor's code to all.
#pragma once

#include <cstdint>

namespace lockstep {

// One direction of the images. `hole` is the distance of a window's elements; the padding stands
// before the image, the one behind it follows from the sizes.
struct ConvAxis {
  int64_t image, result, window;
  int64_t step = 1, hole = 1, pad = 0;
};

struct Conv2d {
  int64_t images, inputs, outputs;  // inputs and outputs: channels
  ConvAxis down, across;

  int64_t taps() const { return down.window * across.window; }
  // The elements of the input that a window sees.
  int64_t values() const { return inputs * taps(); }
};

}  // namespace lockstep
