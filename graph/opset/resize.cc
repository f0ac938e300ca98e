// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numeric>

#include "graph/opset/rewrites.h"

namespace lockstep {
namespace {

constexpr std::size_t kRoi = 1, kScales = 2, kSizes = 3;

bool is_given(const NewerNode& node, std::size_t operand) {
  const Value value = node.input(operand);
  if (!value) return false;
  const Literal* literal = node.graph().literal(value);
  return !literal || literal->count() > 0;
}

std::vector<float> floats(const NewerNode& node, std::size_t operand, const char* what) {
  const Literal* literal = node.graph().literal(node.input(operand));
  if (!literal) node.refuse("its ", what, " are not constant");
  const auto values = literal->values<float>();
  return {values.begin(), values.end()};
}

std::vector<int64_t> resized_axes(const NewerNode& node) {
  const std::size_t rank = node.shape(0).size();
  std::vector<int64_t> axes = node.attributes().integers("axes");
  if (axes.empty()) {
    axes.resize(rank);
    std::iota(axes.begin(), axes.end(), 0);
  }
  for (int64_t& axis : axes) axis = normal_axis(node, axis, rank);
  return axes;
}

void check_count(const NewerNode& node, std::size_t count, std::size_t axes, const char* what) {
  if (count != axes) fail(node.description(), ": has ", count, " ", what, " for ", axes, " axes");
}

// Expands a list for `axes` to every axis, with `other` for the remaining axes.
std::vector<float> spread(const std::vector<float>& values, const std::vector<int64_t>& axes,
                          std::size_t rank, float other) {
  std::vector<float> all(rank, other);
  for (std::size_t i = 0; i < axes.size(); ++i) all[axes[i]] = values[i];
  return all;
}

// Scales all axes by one factor, so that no size exceeds, or none falls below, the entry in
// `sizes`.
void keep_ratio(const NewerNode& node, const std::string& policy, const std::vector<int64_t>& axes,
                std::vector<int64_t>& sizes) {
  if (policy == "stretch") return;
  if (policy != "not_larger" && policy != "not_smaller")
    fail(node.description(), ": keep_aspect_ratio_policy is '", policy, "'");
  std::vector<double> scales;
  for (std::size_t i = 0; i < axes.size(); ++i)
    scales.push_back(static_cast<double>(sizes[i]) / static_cast<double>(node.size(0, axes[i])));
  const double scale = policy == "not_larger" ? *std::min_element(scales.begin(), scales.end())
                                              : *std::max_element(scales.begin(), scales.end());
  for (std::size_t i = 0; i < axes.size(); ++i)
    sizes[i] =
        static_cast<int64_t>(std::floor(scale * static_cast<double>(node.size(0, axes[i])) + 0.5));
}

// Returns the sizes of every axis. Unchanged sizes are read from x at run time, since they may be
// symbolic.
Value sizes_of_every_axis(NewerNode& node, const std::vector<int64_t>& axes,
                          const std::vector<int64_t>& sizes) {
  const std::size_t rank = node.shape(0).size();
  std::vector<Value> parts;
  for (std::size_t i = 0; i < rank; ++i) {
    const auto axis = static_cast<int64_t>(i);
    const auto found = std::find(axes.begin(), axes.end(), axis);
    parts.push_back(found != axes.end()
                        ? node.vector({sizes[found - axes.begin()]})
                        : node.add("Shape", {node.input(0)}, {{"start", axis}, {"end", axis + 1}}));
  }
  return node.add("Concat", parts, {{"axis", int64_t{0}}});
}

void refuse_smoothing(const NewerNode& node, const std::vector<int64_t>& axes,
                      const std::vector<float>& scales, const std::vector<int64_t>& sizes) {
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (scales.empty() ? sizes[i] < node.size(0, axes[i]) : scales[i] < 1)
      node.refuse("antialias is not supported if axis ", axes[i], " becomes smaller");
}

}  // namespace

void resize_every_axis(NewerNode& node) {
  const std::vector<int64_t> axes = resized_axes(node);
  const std::size_t rank = node.shape(0).size();
  const std::string policy = node.attributes().text("keep_aspect_ratio_policy", "stretch");
  const bool smooth = node.attributes().integer("antialias", 0) != 0;
  const bool some_axes = node.attributes().has("axes");
  for (const char* name : {"axes", "keep_aspect_ratio_policy", "antialias"})
    node.drop_attribute(name);
  if (!some_axes && policy == "stretch" && !smooth) return;

  std::vector<Value> inputs{node.input(0), node.input(kRoi), node.input(kScales)};
  std::vector<float> scales;
  std::vector<int64_t> sizes;
  if (is_given(node, kSizes)) {
    sizes = node.integers(kSizes, "sizes");
    check_count(node, sizes.size(), axes.size(), "sizes");
    keep_ratio(node, policy, axes, sizes);
    inputs.resize(kScales);
    inputs.insert(inputs.end(), {none, sizes_of_every_axis(node, axes, sizes)});
  } else {
    scales = floats(node, kScales, "scales");
    check_count(node, scales.size(), axes.size(), "scales");
    inputs[kScales] = node.constant(
        Literal::of<float>(spread(scales, axes, rank, 1), {static_cast<int64_t>(rank)}));
  }
  if (smooth) refuse_smoothing(node, axes, scales, sizes);
  if (some_axes && is_given(node, kRoi)) {
    const std::vector<float> roi = floats(node, kRoi, "regions");
    check_count(node, roi.size(), 2 * axes.size(), "limits of regions");
    const auto half = roi.begin() + static_cast<std::ptrdiff_t>(axes.size());
    std::vector<float> all = spread({roi.begin(), half}, axes, rank, 0);
    const std::vector<float> ends = spread({half, roi.end()}, axes, rank, 1);
    all.insert(all.end(), ends.begin(), ends.end());
    inputs[kRoi] = node.constant(Literal::of<float>(all, {static_cast<int64_t>(2 * rank)}));
  }
  node.set_inputs(inputs);
}

// Replaces half_pixel_symmetric by half_pixel. They differ only if the size is rounded down, which
// is refused.
void resize_half_pixel_symmetric(NewerNode& node) {
  const char* const name = "coordinate_transformation_mode";
  if (node.attributes().text(name, "half_pixel") != "half_pixel_symmetric") return;
  if (!is_given(node, kSizes)) {
    const std::vector<int64_t> axes = resized_axes(node);
    const std::vector<float> scales = floats(node, kScales, "scales");
    check_count(node, scales.size(), axes.size(), "scales");
    for (std::size_t i = 0; i < axes.size(); ++i) {
      if (scales[i] == std::floor(scales[i])) continue;
      const double size =
          static_cast<double>(node.size(0, axes[i])) * static_cast<double>(scales[i]);
      if (size != std::floor(size))
        node.refuse("half_pixel_symmetric from ", node.size(0, axes[i]), " by ", scales[i],
                    ", which gives no integer size, is not supported");
    }
  }
  node.set_attribute(name, std::string("half_pixel"));
}

// Writes opset 20's names of modes as opset 16 does, which samples images only. PyTorch also writes
// volumes at opset 16.
void sample_any_rank(NewerNode& node) {
  const std::string mode = node.attributes().text("mode", "linear");
  node.set_attribute("mode", mode == "linear" ? "bilinear" : mode == "cubic" ? "bicubic" : mode);
  if (node.shape(0).size() != 4) node.make_own();
}

}  // namespace lockstep
