// SPDX-License-Identifier: Apache-2.0
// Rules of Op::flops that several families share.
#pragma once

#include "graph/flops.h"
#include "lockstep/graph.h"
#include "lockstep/op.h"

namespace lockstep {

// For operators that move, choose, convert or fill in numbers.
inline Flops no_flops(const Node&) { return {}; }

// `each` operations per element of result 0, or of operand 0.
template <int each>
Flops per_result(const Node& node) {
  return {.others = each * elements_out(node, 0)};
}
template <int each = 1>
Flops per_operand(const Node& node) {
  return {.others = each * elements_in(node, 0)};
}

// One operation per element of the result for each operand but the first.
inline Flops per_combined(const Node& node) {
  return {.others = static_cast<double>(node.inputs().size() - 1) * elements_out(node, 0)};
}

inline bool has_operand(const Node& node, std::size_t i) {
  return i < node.inputs().size() && node.inputs()[i];
}

inline Op with_flops(Op op, FlopRule rule) {
  op.flops = rule;
  return op;
}

}  // namespace lockstep
