// SPDX-License-Identifier: Apache-2.0
// The gradient of the filters of a 1x1 convolution in bfloat16:
//
//   dw[output][input] = the sum over pixels of dy[pixel][output] * x[pixel][input]
//
// AVX512-BF16 multiplies pairs and adds both products to a float. The pairs are neighbouring pixels
// of a channel. Tensors in channel blocks are interleaved into panels of such pairs:
//
//   panel  [blocks][pairs of pixels][16 channels][2 pixels]
//
// For processors with AVX512-BF16 only.
#pragma once

#include <cstdint>

#include "lockstep/types.h"

namespace lockstep::pointwise {

constexpr int64_t kChannels = 16;  // of a block

// A tensor in channel blocks, and the pixels of it that are read. Distances are in elements.
struct Pixels {
  const BFloat16* data;
  int64_t blocks;  // of an image
  int64_t plane;   // distance between blocks
  int64_t rows, columns;
  int64_t down, across;  // distances between rows and between pixels

  const BFloat16* at(int64_t block, int64_t pixel) const {
    const int64_t image = pixel / (rows * columns), row = pixel / columns % rows;
    return data + (image * blocks + block) * plane + row * down + pixel % columns * across;
  }
};

// Interleaves the pixels [first, first + count) of a channel block of all images. An odd last pixel
// is paired with 0.
void interleave(const Pixels& from, int64_t block, int64_t first, int64_t count, BFloat16* to);

// Memory to prefetch during the computation. It may end after the tensor.
struct Ahead {
  const BFloat16* from;
  int64_t plane;
  int64_t blocks;
};

struct PanelProducts {
  const BFloat16 *x, *dy;   // panels
  int64_t inputs, outputs;  // numbers of blocks
  int64_t pairs;
  bool first;  // starts at 0 instead of adding to dw
  float* dw;
  int64_t row;  // floats between outputs
  Ahead ahead;
};
void add_products(const PanelProducts& products);

// dw[i] = the sum of `parts` values of sums[i], which are `size` apart, for i in [begin, end).
// begin and end are multiples of 16. Subnormal numbers become 0.
void round_sums(const float* sums, int64_t parts, int64_t size, BFloat16* dw, int64_t begin,
                int64_t end);

}  // namespace lockstep::pointwise
