// SPDX-License-Identifier: Apache-2.0
// A tensor seen around one axis.
#pragma once

#include "operators/kit/room.h"

namespace lockstep {

// As [outer, size, inner]: `size` is the axis; a column varies along it.
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
  // The first element of a column; the others follow at distance `inner`.
  int64_t start(int64_t column) const { return column / inner * size * inner + column % inner; }
};

}  // namespace lockstep
