// SPDX-License-Identifier: Apache-2.0
// A tensor's dimensions grouped around one axis.
#pragma once

#include "operators/kit/operator_helpers.h"

namespace lockstep {

// The shape [outer, size, inner]. `size` is the axis; a column is a line of elements along the
// axis.
struct AroundAxis {
  int64_t outer = 1, size = 1, inner = 1;

  AroundAxis(const Dims& dims, int64_t axis) {
    axis = normal_axes({axis}, dims.size())[0];
    for (std::size_t i = 0; i < dims.size(); ++i)
      (static_cast<int64_t>(i) < axis   ? outer
       : static_cast<int64_t>(i) > axis ? inner
                                        : size) *= dims[i];
  }

  int64_t columns() const { return outer * inner; }
  // The first element of a column. The next elements follow at stride `inner`.
  int64_t start(int64_t column) const { return column / inner * size * inner + column % inner; }
};

}  // namespace lockstep
