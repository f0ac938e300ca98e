// SPDX-License-Identifier: Apache-2.0
// The sizes of a convolution of images in one group. Files that are compiled for one kind of
// processor include this header, so nothing of the standard library may be used here. These files
// must not call the functions below, either: the linker could use one processor's code everywhere.
#pragma once

#include <cstdint>

namespace lockstep {

// One direction of the images. `hole` is the distance between a window's elements (dilation). `pad`
// is the padding before the image; the padding after the image follows from the sizes.
struct ConvAxis {
  int64_t image, result, window;
  int64_t step = 1, hole = 1, pad = 0;
};

struct Conv2d {
  int64_t images, inputs, outputs;  // inputs and outputs: channels
  ConvAxis down, across;

  int64_t taps() const { return down.window * across.window; }
  // The number of input elements in a window.
  int64_t values() const { return inputs * taps(); }
};

}  // namespace lockstep
