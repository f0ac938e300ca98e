// SPDX-License-Identifier: Apache-2.0
// Walks several operands of broadcast shapes side by side.
#pragma once

#include <array>
#include <vector>

#include "lockstep/error.h"
#include "lockstep/types.h"

namespace lockstep {

// Walks the output of N operands with numpy-broadcast shapes row by row. Within a row operand k
// advances by step[k] (0 or 1) elements per element. Adjacent dimensions are merged if all operands
// have matching strides, so equal shapes are a single row.
template <int N>
struct Broadcast {
  int64_t rows = 1;
  int64_t row_length = 1;
  std::array<int64_t, N> step{};
  // Outer dimensions, slowest first, with each operand's stride in elements.
  std::vector<int64_t> sizes;
  std::vector<std::array<int64_t, N>> strides;

  Broadcast(const Dims& out, const std::array<Dims, N>& operands) {
    std::vector<int64_t> dims;
    std::vector<std::array<int64_t, N>> walk;
    std::array<int64_t, N> stride;
    stride.fill(1);
    for (int k = 0; k < N; ++k)
      check(operands[k].size() <= out.size(), "operand ", k, " ", operands[k],
            " does not broadcast to ", out);
    for (std::size_t back = 0; back < out.size(); ++back) {  // from the fastest dimension
      int64_t size = out[out.size() - 1 - back];
      std::array<int64_t, N> here{};
      for (int k = 0; k < N; ++k) {
        const Dims& of = operands[k];
        int64_t own = back < of.size() ? of[of.size() - 1 - back] : 1;
        // ONNX's shape inference does not check this for every operator.
        check(own == 1 || own == size, "operand ", k, " ", of, " does not broadcast to ", out);
        here[k] = own == 1 ? 0 : stride[k];
        stride[k] *= own;
      }
      if (size == 1) continue;
      bool merges = !dims.empty();
      for (int k = 0; k < N && merges; ++k) merges = here[k] == walk.back()[k] * dims.back();
      if (merges) {
        dims.back() *= size;
      } else {
        dims.push_back(size);
        walk.push_back(here);
      }
    }
    if (element_count(out) == 0) rows = 0;
    if (dims.empty()) return;
    row_length = dims[0];
    step = walk[0];
    for (std::size_t i = dims.size(); i-- > 1;) {
      sizes.push_back(dims[i]);
      strides.push_back(walk[i]);
      rows *= dims[i];
    }
  }

  // The offset of each operand at the start of a row.
  std::array<int64_t, N> at(int64_t row) const {
    std::array<int64_t, N> offset{};
    for (std::size_t i = sizes.size(); i-- > 0;) {
      int64_t index = row % sizes[i];
      row /= sizes[i];
      for (int k = 0; k < N; ++k) offset[k] += index * strides[i][k];
    }
    return offset;
  }
};

}  // namespace lockstep
