// SPDX-License-Identifier: Apache-2.0
#include <map>

#include "graph/opset/rewrites.h"

namespace lockstep {
namespace {

// Replaces a reduction over no axis: each element is its own result.
void reduce_nothing(NewerNode& node) {
  static const std::map<std::string, const char*> functions{
      {"ReduceL1", "Abs"}, {"ReduceL2", "Abs"}, {"ReduceLogSum", "Log"}};
  const Value x = node.input(0);
  if (node.type() == "ReduceSumSquare") return node.become("Mul", {x, x});
  auto found = functions.find(node.type());
  node.become(found == functions.end() ? "Identity" : found->second, {x});
}

}  // namespace

void reduce_axes_to_attribute(NewerNode& node) {
  const bool nothing = node.attributes().integer("noop_with_empty_axes", 0) != 0;
  node.drop_attribute("noop_with_empty_axes");
  std::vector<int64_t> axes;
  if (node.input(1)) axes = node.integers(1, "axes");
  if (axes.empty() && nothing) return reduce_nothing(node);
  node.set_inputs({node.input(0)});
  if (!axes.empty()) node.set_attribute("axes", axes);
}

// Reduces booleans as uint8: false < true. Empty reductions give the least or largest uint8, which
// are cast to false and true.
void reduce_booleans_as_numbers(NewerNode& node) {
  if (node.dtype() != DType::boolean) return;
  const auto boolean = static_cast<int64_t>(DType::boolean);
  const bool nothing = node.attributes().integer("noop_with_empty_axes", 0) != 0;
  std::vector<int64_t> axes;
  if (node.input(1)) axes = node.integers(1, "axes");
  if (axes.empty() && nothing) return reduce_nothing(node);
  Attributes attributes{{"keepdims", node.attributes().integer("keepdims", 1)}};
  if (!axes.empty()) attributes.push_back({"axes", axes});
  const Value numbers = node.cast(node.input(0), DType::uint8);
  const Value reduced = node.add(node.type().c_str(), {numbers}, attributes);
  node.become("Cast", {reduced}, {{"to", boolean}});
}

}  // namespace lockstep
