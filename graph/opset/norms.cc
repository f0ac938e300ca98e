// SPDX-License-Identifier: Apache-2.0
#include <numeric>

#include "graph/opset/rewrites.h"

namespace lockstep {
namespace {

// Normalises each group of each example to mean 0 and variance 1, times `scale`, plus `bias` by
// group.
Value normal_groups(NewerNode& node, int64_t groups, Value scale, Value bias) {
  const Value x = node.input(0);
  const Value apart = node.add("Reshape", {x, node.vector({0, groups, -1})});
  const Value normal = node.add("InstanceNormalization", {apart, scale, bias},
                                {{"epsilon", node.attributes().number("epsilon", 1e-5F)}});
  return node.add("Reshape", {normal, node.shape_of(x)});
}

Value filled(NewerNode& node, int64_t count, double value) {
  return node.add("Expand", {node.scalar(value), node.vector({count})});
}

int64_t groups_of(const NewerNode& node) {
  const int64_t groups = node.attributes().integer("num_groups", 0);
  if (groups < 1) fail(node.description(), ": num_groups should be positive, is ", groups);
  if (node.shape(0).size() < 2)
    fail(node.description(), ": data has ", node.shape(0).size(),
         " dimensions, needs a batch and channels");
  return groups;
}

}  // namespace

void group_norm_by_group(NewerNode& node) {
  node.become("Identity", {normal_groups(node, groups_of(node), node.input(1), node.input(2))});
}

void group_norm_by_channel(NewerNode& node) {
  const int64_t groups = groups_of(node);
  std::vector<int64_t> by_channel(node.shape(0).size() - 1, 1);
  by_channel[0] = -1;
  const Value normal =
      normal_groups(node, groups, filled(node, groups, 1), filled(node, groups, 0));
  const Value scale = node.add("Reshape", {node.input(1), node.vector(by_channel)});
  const Value bias = node.add("Reshape", {node.input(2), node.vector(by_channel)});
  node.become("Add", {node.add("Mul", {normal, scale}), bias});
}

void write_rms_norm(NewerNode& node) {
  const std::size_t rank = node.shape(0).size();
  const int64_t first = normal_axis(node, node.attributes().integer("axis", -1), rank);
  const float epsilon = node.attributes().number("epsilon", 1e-5F);
  std::vector<int64_t> axes(rank - first);
  std::iota(axes.begin(), axes.end(), first);
  // 16-bit floats are squared as float32: stash_type's default.
  const DType given = node.dtype();
  const bool narrow = is_narrow(given);
  const Value x = narrow ? node.cast(node.input(0), DType::float32) : node.input(0);
  const Value mean =
      node.add("ReduceMean", {node.add("Mul", {x, x})}, {{"axes", axes}, {"keepdims", int64_t{1}}});
  const Value small = node.scalar(epsilon, narrow ? DType::float32 : given);
  const Value normal = node.add("Div", {x, node.add("Sqrt", {node.add("Add", {mean, small})})});
  node.become("Mul", {narrow ? node.cast(normal, given) : normal, node.input(1)});
}

// (x - mean) / deviation. The smallest deviation is inside the root, so that constant data has a
// gradient.
void write_mean_variance_norm(NewerNode& node) {
  std::vector<int64_t> axes = node.attributes().integers("axes");
  if (axes.empty()) axes = {0, 2, 3};
  const Attributes over{{"axes", axes}, {"keepdims", int64_t{1}}};
  const Value x = node.input(0);
  const Value apart = node.add("Sub", {x, node.add("ReduceMean", {x}, over)});
  const Value variance = node.add("ReduceMean", {node.add("Mul", {apart, apart})}, over);
  const Value deviation = node.add("Sqrt", {node.add("Add", {variance, node.scalar(1e-18)})});
  node.become("Div", {apart, deviation});
}

// x / (sum of |x|^p)^(1/p) along the axis, p 1 or 2; 0 stays 0.
void write_lp_normalization(NewerNode& node) {
  const int64_t p = node.attributes().integer("p", 2);
  if (p != 1 && p != 2) fail(node.description(), ": p is ", p, ", should be 1 or 2");
  const std::vector<int64_t> axes{node.attributes().integer("axis", -1)};
  const Value x = node.input(0);
  const Value norm =
      node.add(p == 1 ? "ReduceL1" : "ReduceL2", {x}, {{"axes", axes}, {"keepdims", int64_t{1}}});
  const Value one = node.cast(node.add("Equal", {norm, node.scalar(0)}), node.dtype());
  node.become("Div", {x, node.add("Add", {norm, one})});
}

}  // namespace lockstep
