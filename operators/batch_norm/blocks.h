// SPDX-License-Identifier: Apache-2.0
// Batch norm's loops over the pixels of one image in one block of 16 channels, for processors whose
// vectors hold 16 floats. They compute the bits of the loops over packs (passes_cpu.h), which such
// a processor would run four floats at a time.
#pragma once

#include <cstdint>

#include "graph/half.h"

namespace lockstep {

// What follows the normalisation.
enum class Ending { none, relu, clip };

namespace normed {

inline constexpr int kChannels = 16;

// The order of addition: neighbouring pixels belong to different sums, which are floats over a
// stretch of pixels and are added to doubles after it.
inline constexpr int kWays = 2;
inline constexpr int64_t kStretch = 256;

// Numbers by channel are pointers to those of this block.
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
  const T *dy, *x, *y;  // y is null unless it decides what passes
  T *dx, *dz;           // dz may be null
  int64_t pixels;
  const float *center, *factor, *bias;
  const float *mean, *slope;  // only to differentiate
  float low, high;            // of a Clip, before what is within is rounded to T
  bool given;                 // statistics: not the batch's own
};

template <class T>
struct BlockLoops {
  // sums[c] of x - first, sums[kChannels + c] of its squares.
  void (*add_up)(const T* x, int64_t pixels, const float* first, double* sums);
  void (*normalise)(Ending ending, const ForwardBlock<T>& block);
  // sums[c] of what passes of dy, sums[kChannels + c] of its products with x - center.
  void (*add_up_gradients)(Ending ending, const BackwardBlock<T>& block, double* sums);
  void (*differentiate)(Ending ending, const BackwardBlock<T>& block);
};

// This processor's; null if its vectors are shorter. T is float or BFloat16.
template <class T>
const BlockLoops<T>* loops_here();

template <class T>
const BlockLoops<T>& avx512_loops();

}  // namespace normed
}  // namespace lockstep
