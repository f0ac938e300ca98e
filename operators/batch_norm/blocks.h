// SPDX-License-Identifier: Apache-2.0
// Batch norm's loops over the pixels of one image in one block of 16 channels, for processors with
// vectors of 16 floats. They compute the same bits as the loops over packs (passes_cpu.h), which
// use vectors of four floats.
#pragma once

#include <cstdint>

#include "lockstep/types.h"

namespace lockstep {

// The operation after the normalisation.
enum class Ending { none, relu, clip };

namespace normed {

inline constexpr int kChannels = 16;

// The order of addition. Neighbouring pixels belong to different sums. The sums are floats over a
// stretch of pixels; at its end they are added to doubles.
inline constexpr int kWays = 2;
inline constexpr int64_t kStretch = 256;

// Pointers to per-channel numbers point to the numbers of this block.
template <class T>
struct ForwardBlock {
  const T *x, *z;  // z may be null
  T* y;
  int64_t pixels;
  const float *factor, *center, *bias;
  float low, high;  // of a Clip
};

template <class T>
struct BackwardBlock {
  const T *dy, *x, *y;  // y is null unless it determines where dy passes
  T *dx, *dz;           // dz may be null
  int64_t pixels;
  const float *center, *factor, *bias;
  const float *mean, *slope;  // only used to differentiate
  float low, high;            // of a Clip, before the values within are rounded to T
  bool given;                 // true: statistics are given; false: of the batch
};

template <class T>
struct BlockLoops {
  // sums[c]: the sum of x - first; sums[kChannels + c]: the sum of squares of x - first.
  void (*add_up)(const T* x, int64_t pixels, const float* first, double* sums);
  void (*normalise)(Ending ending, const ForwardBlock<T>& block);
  // sums[c]: the sum of the passing part of dy; sums[kChannels + c]: the sum of its products with x
  // - center.
  void (*add_up_gradients)(Ending ending, const BackwardBlock<T>& block, double* sums);
  void (*differentiate)(Ending ending, const BackwardBlock<T>& block);
};

// This processor's loops; null if its vectors are shorter. T is float or BFloat16.
template <class T>
const BlockLoops<T>* loops_here();

template <class T>
const BlockLoops<T>& avx512_loops();

}  // namespace normed
}  // namespace lockstep
