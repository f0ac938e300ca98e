// SPDX-License-Identifier: Apache-2.0
// GridSample: reads an image or a volume at places that another tensor lists.
#pragma once

#include <vector>

#include "lockstep/graph.h"
#include "lockstep/kernel.h"
#include "lockstep/op.h"
#include "operators/grid_sample/sampling.h"

namespace lockstep {

GridRule read_grid_rule(AttributeReader attributes);

// The sizes of a problem: x [images, channels, size..], grid [images, points.., axes].
struct GridProblem {
  GridRule rule;
  int axes = 0;
  int64_t images = 0, channels = 0, points = 0, plane = 1;
  int64_t size[kMostGridAxes] = {};

  GridProblem(AttributeReader attributes, const Dims& x, const Dims& grid);

  // The taps of point `p` of all images, along every axis. The last axis has the first coordinate.
  template <class T>
  constexpr void find_taps(const T* grid, int64_t p, GridTaps<T>* taps) const {
    for (int d = 0; d < axes; ++d) taps[d] = rule.taps(grid[p * axes + axes - 1 - d], size[d]);
  }
};

// Refuses a grid, operand `i`, whose element type differs from the type of operand 0.
inline Refusal takes_grid_like_data(std::size_t i) {
  return [i](const KernelRequest& request) -> std::string {
    const DType data = request.in[0].dtype, grid = request.in[i].dtype;
    return data == grid ? ""
                        : join("takes a grid of ", data, " for data of ", data, ", not ", grid);
  };
}

std::vector<Op> grid_sample_ops();
std::vector<KernelEntry> grid_sample_cpu();
std::vector<KernelEntry> grid_sample_cuda();

}  // namespace lockstep
