// SPDX-License-Identifier: Apache-2.0
// The mean of a bin's samples is a sum over rows of sums over columns: each bin of an axis has a
// short list of places and weights, its taps. RoiTaps holds those of all RoIs, so that they are
// computed once for all channels.
#pragma once

#include <span>

#include "operators/roi/sampling.h"
#include "runtime/kernel.h"

namespace lockstep {

// RoIs and the maps they are pooled from, as a kernel's operands give them.
struct RoiOperands {
  static constexpr std::size_t kNoLevels = SIZE_MAX;  // one map for all

  std::size_t boxes, images, levels;
};

// One axis of all RoIs. Bin b of RoI r has taps [begin(r, b), end(r, b)).
template <class T>
struct AxisTaps {
  int64_t bins = 0, capacity = 0;  // of a RoI
  int32_t* ends = nullptr;
  int32_t* places = nullptr;
  T* weights = nullptr;

  std::span<const int32_t> ends_of(int64_t roi) const {
    return {ends + roi * bins, static_cast<std::size_t>(bins)};
  }
  const int32_t* places_of(int64_t roi) const { return places + roi * capacity; }
  const T* weights_of(int64_t roi) const { return weights + roi * capacity; }
};

struct RoiPlace {
  int32_t level;  // -1: none
  int32_t left;   // of the columns that any tap reads; places along x count from it
  int32_t width;  // 0: nothing of it is on the map
  int64_t image;
};

template <class T>
class RoiTaps {
 public:
  // `maps`: [I, C, H, W] of each level.
  RoiTaps(const RoiAlignAttrs& attrs, std::vector<float> scales, std::vector<Dims> maps,
          int64_t count, const RoiOperands& operands);

  std::size_t bytes() const { return bytes_; }
  // Where the taps lie, in a workspace of so many bytes.
  void bind(std::byte* workspace);
  // Throws for an image or a level that does not exist, in the name of `op`.
  void compute(std::span<const Tensor> in, const char* op);

  int64_t count() const { return count_; }
  const RoiPlace& place(int64_t roi) const { return places_[roi]; }
  const AxisTaps<T>& rows() const { return rows_; }
  const AxisTaps<T>& columns() const { return columns_; }

 private:
  RoiAlignAttrs attrs_;
  std::vector<float> scales_;
  std::vector<Dims> maps_;
  int64_t count_;
  RoiOperands operands_;
  RoiPlace* places_ = nullptr;
  AxisTaps<T> rows_, columns_;
  std::size_t bytes_ = 0;
};

}  // namespace lockstep
