// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <numeric>

#include "graph/opset/rewrites.h"

namespace lockstep {
namespace {

std::vector<int64_t> axes_or_all(const NewerNode& node, std::size_t operand, std::size_t rank) {
  std::vector<int64_t> axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  if (!node.input(operand)) return axes;
  axes = node.integers(operand, "axes");
  for (int64_t& axis : axes) axis = normal_axis(node, axis, rank);
  return axes;
}

// Returns the pads before every axis, then the pads after every axis.
std::vector<int64_t> pads_of_every_axis(const NewerNode& node) {
  const std::size_t rank = node.shape(0).size();
  const std::vector<int64_t> axes = axes_or_all(node, 3, rank), given = node.integers(1, "pads");
  if (given.size() != 2 * axes.size())
    fail(node.description(), ": has ", given.size(), " pads for ", axes.size(), " axes");
  std::vector<int64_t> pads(2 * rank, 0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    pads[axes[i]] = given[i];
    pads[rank + axes[i]] = given[axes.size() + i];
  }
  return pads;
}

// Returns x tiled along an axis, from `begin` elements before x to `end` elements after.
Value wrapped(NewerNode& node, Value x, int64_t axis, int64_t size, int64_t begin, int64_t end) {
  if (size < 1) fail(node.description(), ": mode wrap cannot pad an axis of size ", size);
  const int64_t before = (std::max<int64_t>(begin, 0) + size - 1) / size;
  const int64_t after = (std::max<int64_t>(end, 0) + size - 1) / size;
  const std::vector<Value> copies(before + 1 + after, x);
  const Value all = copies.size() == 1 ? x : node.add("Concat", copies, {{"axis", axis}});
  return node.slice(all, axis, before * size - begin, (before + 1) * size + end);
}

}  // namespace

void split_into_parts(NewerNode& node) {
  const int64_t parts = node.attributes().integer("num_outputs", 0);
  node.drop_attribute("num_outputs");
  if (parts < 0) fail(node.description(), ": num_outputs should be positive, is ", parts);
  if (parts == 0 || node.input(1)) return;
  const Shape x = node.shape(0);
  const int64_t axis = normal_axis(node, node.attributes().integer("axis", 0), x.size());
  // Opset 17 can only split a symbolic dimension into equal parts; a plan rejects other sizes.
  if (!x[axis].known()) return;
  const int64_t size = x[axis].size();
  if (parts > std::max<int64_t>(size, 1))
    fail(node.description(), ": ", size, " elements cannot be split into ", parts, " parts");
  const int64_t part = (size + parts - 1) / parts;
  std::vector<int64_t> sizes(parts, part);
  sizes.back() = size - part * (parts - 1);
  if (sizes.back() < 0)
    fail(node.description(), ": ", size, " elements cannot be split into ", parts, " parts of ",
         part);
  node.set_inputs({node.input(0), node.vector(sizes)});
}

void pad_every_axis(NewerNode& node) {
  if (!node.input(3)) return;
  node.set_inputs({node.input(0), node.vector(pads_of_every_axis(node)), node.input(2)});
}

void pad_around(NewerNode& node) {
  if (node.attributes().text("mode", "constant") != "wrap") return;
  const std::vector<int64_t> pads = pads_of_every_axis(node);
  const std::size_t rank = pads.size() / 2;
  Value x = node.input(0);
  for (std::size_t i = 0; i < rank; ++i) {
    const auto axis = static_cast<int64_t>(i);
    if (pads[i] == 0 && pads[rank + i] == 0) continue;
    x = wrapped(node, x, axis, node.size(0, axis), pads[i], pads[rank + i]);
  }
  node.become("Identity", {x});
}

// Rewrites mode CRD. Before opset 28, the block always went before the channels (DCR).
void space_to_channels_first(NewerNode& node) {
  const std::string mode = node.attributes().text("mode", "DCR");
  node.drop_attribute("mode");
  if (mode == "DCR") return;
  if (mode != "CRD") fail(node.description(), ": mode is '", mode, "', should be DCR or CRD");
  const int64_t block = node.attributes().integer("blocksize", 1), channels = node.size(0, 1);
  const int64_t height = node.size(0, 2), width = node.size(0, 3);
  if (block < 1 || height % block != 0 || width % block != 0)
    fail(node.description(), ": ", height, " x ", width, " is not made of blocks of ", block);
  const Value apart = node.add(
      "Reshape",
      {node.input(0), node.vector({0, channels, height / block, block, width / block, block})});
  const Value turned =
      node.add("Transpose", {apart}, {{"perm", std::vector<int64_t>{0, 1, 3, 5, 2, 4}}});
  node.become("Reshape",
              {turned, node.vector({0, channels * block * block, height / block, width / block})});
}

// Crops or zero-pads to `shape` around the centre.
void center_crop_or_pad(NewerNode& node) {
  const std::size_t rank = node.shape(0).size();
  std::vector<int64_t> axes = node.attributes().integers("axes");
  if (axes.empty()) {
    axes.resize(rank);
    std::iota(axes.begin(), axes.end(), 0);
  }
  const std::vector<int64_t> wanted = node.integers(1, "shape");
  if (wanted.size() != axes.size())
    fail(node.description(), ": has ", wanted.size(), " sizes for ", axes.size(), " axes");
  std::vector<int64_t> pads(2 * rank, 0);
  Value x = node.input(0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const int64_t axis = normal_axis(node, axes[i], rank);
    const int64_t size = node.size(0, axis), more = wanted[i] - size;
    if (more < 0) x = node.slice(x, axis, -more / 2, -more / 2 + wanted[i]);
    if (more <= 0) continue;
    pads[axis] = more / 2;
    pads[rank + axis] = more - more / 2;
  }
  node.become("Pad", {x, node.vector(pads)});
}

// ONNX's inference requires scalars, but other engines accept vectors of one element.
void range_of_scalars(NewerNode& node) {
  std::vector<Value> operands;
  for (std::size_t i = 0; i < 3; ++i) {
    const Value operand = node.input(i);
    if (!operand) return;
    const TensorType& type = node.graph().type(operand);
    const bool scalar = !type.ranked || type.shape.empty();
    operands.push_back(scalar ? operand : node.add("Reshape", {operand, node.vector({})}));
  }
  node.set_inputs(operands);
}

}  // namespace lockstep
