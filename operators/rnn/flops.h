// SPDX-License-Identifier: Apache-2.0
// The arithmetic of recurrent operators. Each row of x, an example at a step, is multiplied with W
// and its state with R. Each gate adds a bias and has an activation; then an LSTM's cell and state
// take five operations for each element, a GRU's state four. A gradient has two products for each
// product, and twice as many other operations. Padding of sequences counts.
#pragma once

#include "graph/flops.h"
#include "operators/kit/flops.h"
#include "operators/rnn/recurrence.h"

namespace lockstep {

inline Flops recurrent_flops(const Node& node) {
  using In = RecurrentIn;
  const Cell cell = cell_of(node.type());
  const auto extent = [&](std::size_t operand, std::size_t axis) {
    return extent_of(node.graph(), node.inputs()[operand], axis);
  };
  const double rows = extent(In::x, 0) * extent(In::x, 1);
  const double of_x = 2 * rows * elements_in(node, In::w),
               of_h = 2 * rows * elements_in(node, In::r);
  const double each = 2 * static_cast<double>(gates_of(cell)) + (cell == Cell::lstm  ? 5
                                                                 : cell == Cell::gru ? 4
                                                                                     : 0);
  const double others = each * rows * extent(In::r, 0) * extent(In::r, 2);
  if (!node.type().ends_with("Grad")) return {of_x + of_h, others};
  const bool has_dx = bool(node.outputs()[RecurrentGradOut::dx]);  // the first layer needs none
  return {(has_dx ? 2 : 1) * of_x + 2 * of_h, 2 * others};
}

}  // namespace lockstep
