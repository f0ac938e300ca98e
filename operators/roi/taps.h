// SPDX-License-Identifier: Apache-2.0
// The mean of a bin's samples is a sum over rows of sums over columns. Each bin of an axis has a
// short list of pixels and weights, its taps. RoiTaps holds the taps of all RoIs, so that taps are
// computed once for all channels.
#pragma once

#include <span>

#include "lockstep/kernel.h"
#include "operators/roi/sampling.h"

namespace lockstep {

// Indices of the operands with the RoIs and their maps.
struct RoiOperands {
  static constexpr std::size_t kNoLevels = SIZE_MAX;  // all RoIs use one map

  std::size_t boxes, images, levels;
};

// One axis of all RoIs. ends_of(r)[b] is the end of bin b's taps of RoI r.
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
  int32_t left;   // first column that any tap reads; x indices are relative to it
  int32_t width;  // 0: the RoI is outside the map
  int64_t image;
};

template <class T>
class RoiTaps {
 public:
  // `maps` are [I, C, H, W] of each level.
  RoiTaps(const RoiAlignAttrs& attrs, std::vector<float> scales, std::vector<Dims> maps,
          int64_t count, const RoiOperands& operands);

  std::size_t bytes() const { return bytes_; }
  // Stores the taps in a workspace of bytes() bytes.
  void bind(std::byte* workspace);
  // Computes the taps. Throws, naming `op`, for an image or a level that does not exist.
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
