// SPDX-License-Identifier: Apache-2.0
#include "graph/flops.h"

#include <cmath>
#include <limits>

namespace lockstep {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

double size_of(const Dim& dim) { return dim.known() ? static_cast<double>(dim.size()) : kUnknown; }

}  // namespace

double elements_of(const Graph& graph, Value value) {
  if (!value) return 0;
  const TensorType& type = graph.type(value);
  if (!type.ranked) return kUnknown;
  double elements = 1;
  for (const Dim& dim : type.shape) elements *= size_of(dim);
  return elements;
}

double extent_of(const Graph& graph, Value value, std::size_t axis) {
  if (!value) return kUnknown;
  const TensorType& type = graph.type(value);
  return type.ranked && axis < type.shape.size() ? size_of(type.shape[axis]) : kUnknown;
}

double elements_in(const Node& node, std::size_t i) {
  return i < node.inputs().size() ? elements_of(node.graph(), node.inputs()[i]) : 0;
}

double elements_out(const Node& node, std::size_t i) {
  return i < node.outputs().size() ? elements_of(node.graph(), node.outputs()[i]) : 0;
}

std::optional<Flops> flops_of(const Node& node) {
  const Op* op = node.op();
  Flops flops;
  if (op && op->flops)
    flops = op->flops(node);
  else if (!op || !(op->view || op->copies))
    flops.others = elements_out(node, 0);
  if (std::isnan(flops.all())) return std::nullopt;
  return flops;
}

}  // namespace lockstep
