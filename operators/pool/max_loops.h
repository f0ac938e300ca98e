// SPDX-License-Identifier: Apache-2.0
// The gradient of maxima over one plane of one block of 16 channels, for processors whose vectors
// hold 16 floats. It computes the bits of the loops over packs (max_blocks.cc), which such a
// processor would run four floats at a time.
#pragma once

#include <cstdint>

#include "graph/half.h"

namespace lockstep {

// Windows along one dimension.
struct AxisOfWindows {
  int64_t in, out, kernel, stride, pad;
};

namespace max_pooled {

inline constexpr int kChannels = 16;

template <class T>
struct GradientOfMaxima {
  AxisOfWindows rows, columns;
  const T *dy, *x;
  T* dx;
  int32_t* places;         // room for those of maxima: kChannels for each window of so many rows
  int64_t rows_of_places;  // as many rows of windows as can reach one row of pixels
};

// T is float or BFloat16.
template <class T>
void avx512_max_grad(const GradientOfMaxima<T>& plane);

}  // namespace max_pooled
}  // namespace lockstep
