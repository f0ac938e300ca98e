// SPDX-License-Identifier: Apache-2.0
// The boxes that a suppression has kept, as one list for each coordinate, so that a candidate is
// compared with several boxes at once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace lockstep {

struct MeasuredBox {
  float x1 = 0, y1 = 0, x2 = 0, y2 = 0;
  float area = 0;
};
// Boxes without an area and boxes with a NaN become the default box, which overlaps nothing.
inline MeasuredBox measured(const float* box) {
  const float width = box[2] - box[0], height = box[3] - box[1];
  if (!(width > 0 && height > 0)) return {};
  return {box[0], box[1], box[2], box[3], width * height};
}

class KeptBoxes {
 public:
  static std::size_t bytes(int64_t capacity) {
    return padded(capacity) * (5 * sizeof(float) + sizeof(int32_t));
  }
  // Uses `memory` of bytes(capacity) bytes.
  KeptBoxes(std::byte* memory, int64_t capacity)
      : x1_(reinterpret_cast<float*>(memory)),
        y1_(x1_ + padded(capacity)),
        x2_(y1_ + padded(capacity)),
        y2_(x2_ + padded(capacity)),
        area_(y2_ + padded(capacity)),
        group_(reinterpret_cast<int32_t*>(area_ + padded(capacity))) {
    std::fill_n(memory, bytes(capacity), std::byte{0});
  }

  int64_t count() const { return count_; }
  void add(const MeasuredBox& box, int32_t group) {
    x1_[count_] = box.x1;
    y1_[count_] = box.y1;
    x2_[count_] = box.x2;
    y2_[count_] = box.y2;
    area_[count_] = box.area;
    group_[count_] = group;
    ++count_;
  }

  // True if a kept box of the group has a larger IoU with `box` than the threshold. Two boxes of
  // area 0 give NaN, which is not larger. Slots after the last kept box are boxes of area 0.
  template <bool kGroups>
  bool overlaps(const MeasuredBox& box, int32_t group, float threshold) const {
    for (int64_t block = 0; block < count_; block += kBlock) {
      int found = 0;
      for (int64_t i = block; i < block + kBlock; ++i) {
        const float width = smaller(x2_[i], box.x2) - larger(x1_[i], box.x1);
        const float height = smaller(y2_[i], box.y2) - larger(y1_[i], box.y1);
        const float common = larger(width, 0) * larger(height, 0);
        const float iou = common / (area_[i] + box.area - common);
        const int hit = iou > threshold ? 1 : 0;
        found |= kGroups ? hit & (group_[i] == group ? 1 : 0) : hit;
      }
      if (found) return true;
    }
    return false;
  }

 private:
  static constexpr int64_t kBlock = 16;
  static int64_t padded(int64_t capacity) { return (capacity + kBlock - 1) / kBlock * kBlock; }
  // Compute like the processor's instructions: the result is the second operand if a comparison
  // with NaN is false.
  static float smaller(float a, float b) { return a < b ? a : b; }
  static float larger(float a, float b) { return a > b ? a : b; }

  float *x1_, *y1_, *x2_, *y2_, *area_;
  int32_t* group_;
  int64_t count_ = 0;
};

}  // namespace lockstep
