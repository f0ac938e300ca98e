// SPDX-License-Identifier: Apache-2.0
// Images of few channels would fill planes of 32 channels with zeros. What a window sees of one
// fills a plane's pixel instead, and the convolution becomes one of 1x1 windows.
#pragma once

#include <cstddef>
#include <cstdint>

#include "operators/conv/amx/loops.h"
#include "operators/conv/conv2d.h"

namespace lockstep::amx {

// Windows without holes, of row-major images. A pixel has the rows of its window, those of the
// first channel first, each with zeros up to 8 places, and zeros up to whole planes.
struct Windows : Conv2d {
  // Shorter rows would be mostly zeros: oneDNN's kernels are faster for MobileNet's of 3 elements.
  static constexpr int64_t kShortestRow = 5, kRowPlaces = 8;

  int64_t rows() const { return inputs * down.window; }
  int64_t planes() const { return (rows() * kRowPlaces + kDeep - 1) / kDeep; }
  int64_t places() const { return planes() * kDeep; }

  // One plane of rows of the result's pixels. Rows that the result does not have are 0.
  void pack(const BFloat16* image, int64_t plane, int64_t first_row, int64_t count,
            BFloat16* to) const;
  // Filters with zeros are [outputs, places], and tiles have whole blocks of outputs.
  int64_t filter_places() const { return (outputs + kBlock - 1) / kBlock * kBlock * places(); }
  std::size_t filter_bytes() const { return filter_places() * sizeof(BFloat16); }
  // From row-major ones without, to tiles of the forward pass.
  void fill_tiles(const BFloat16* filters, BFloat16* to) const;
  // Both row-major.
  void take_filters(const BFloat16* with_zeros, BFloat16* to) const;
};

}  // namespace lockstep::amx
