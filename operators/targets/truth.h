// SPDX-License-Identifier: Apache-2.0
// The true boxes of one image, in a kernel's operands.
#pragma once

#include <span>

#include "lockstep/kernel.h"
#include "operators/targets/overlaps.h"

namespace lockstep {

struct ImageTruth {
  const float* boxes;
  const int64_t* classes;
  const int64_t* crowd;
  int64_t rows;

  // False for empty slots and boxes without an area.
  bool counts(int64_t row) const { return classes[row] > 0 && has_area(box_at(boxes, row)); }
  bool is_crowd(int64_t row) const { return crowd[row] != 0; }
  bool is_object(int64_t row) const { return counts(row) && !is_crowd(row); }
};

// Operands first, first + 1 and first + 2 are gt_boxes [I, rows, 4], gt_classes and gt_crowd.
inline ImageTruth truth_of_image(std::span<const Tensor> in, std::size_t first, int64_t rows,
                                 int64_t image) {
  return {in[first].as<float>() + image * rows * 4, in[first + 1].as<int64_t>() + image * rows,
          in[first + 2].as<int64_t>() + image * rows, rows};
}

}  // namespace lockstep
