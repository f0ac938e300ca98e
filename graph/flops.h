// SPDX-License-Identifier: Apache-2.0
// The arithmetic of a graph's nodes, by the rules of their operators (Op::flops).
#pragma once

#include <optional>

#include "lockstep/graph.h"

namespace lockstep {

// The number of elements: 0 for `none`, NaN if the rank or a dimension is unknown. A double, since
// the shapes of a file may claim more elements than an integer can count.
double elements_of(const Graph& graph, Value value);
// The same for an operand or a result of a node; 0 for one that the node does not have.
double elements_in(const Node& node, std::size_t i);
double elements_out(const Node& node, std::size_t i);
// The size of one dimension of a value; NaN if it is unknown or the value lacks this dimension.
double extent_of(const Graph& graph, Value value, std::size_t axis);

// Empty if the rule needs a shape that is unknown; bind_shapes() makes shapes known.
std::optional<Flops> flops_of(const Node& node);

}  // namespace lockstep
