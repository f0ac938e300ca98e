// SPDX-License-Identifier: Apache-2.0
// The gradient of max pooling over one plane of one block of 16 channels, for processors with
// vectors of 16 floats. It computes the same bits as the loops over packs (max_blocks.cc), which
// use vectors of four floats.
#pragma once

#include <cstdint>

#include "lockstep/types.h"

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
  int32_t* places;         // memory for the indices of maxima: kChannels for each window of
                           // rows_of_places rows
  int64_t rows_of_places;  // the most rows of windows that reach one row of pixels
};

// T is float or BFloat16.
template <class T>
void avx512_max_grad(const GradientOfMaxima<T>& plane);

}  // namespace max_pooled
}  // namespace lockstep
