// SPDX-License-Identifier: Apache-2.0
// im2col for images with few channels, which would mostly fill planes of 32 channels with zeros.
// The elements of a window become the channels of a packed pixel, and the convolution has 1x1
// windows.
#pragma once

#include <cstddef>
#include <cstdint>

#include "operators/conv/amx/kernels.h"
#include "operators/conv/conv2d.h"

namespace lockstep::amx {

// Windows without dilation, of row-major images. A packed pixel has the rows of its window, those
// of the first channel first. Each row is padded with zeros to 8 elements, and all rows to whole
// planes.
struct Windows : Conv2d {
  // Shorter rows would be mostly zeros: oneDNN is faster for rows of 3 elements, as in MobileNet.
  static constexpr int64_t kShortestRow = 5, kRowPlaces = 8;

  int64_t rows() const { return inputs * down.window; }
  int64_t planes() const { return (rows() * kRowPlaces + kDeep - 1) / kDeep; }
  int64_t places() const { return planes() * kDeep; }

  // Packs one plane for rows of the result's pixels. Rows outside the result are 0.
  void pack(const BFloat16* image, int64_t plane, int64_t first_row, int64_t count,
            BFloat16* to) const;
  // Padded filters are [outputs, places]; tiles have whole blocks of outputs.
  int64_t filter_places() const { return (outputs + kBlock - 1) / kBlock * kBlock * places(); }
  std::size_t filter_bytes() const { return filter_places() * sizeof(BFloat16); }
  // Converts row-major filters without zeros to tiles of the forward pass.
  void fill_tiles(const BFloat16* filters, BFloat16* to) const;
  // Removes the zeros; both arrays are row-major.
  void take_filters(const BFloat16* with_zeros, BFloat16* to) const;
};

}  // namespace lockstep::amx
