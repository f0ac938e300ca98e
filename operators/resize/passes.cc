// SPDX-License-Identifier: Apache-2.0
#include "operators/resize/passes.h"

#include <algorithm>
#include <array>

namespace lockstep {
namespace {

template <std::size_t kCount>
int number_of(const std::array<const char*, kCount>& names, const std::string& name,
              const char* attribute) {
  const auto found = std::find(names.begin(), names.end(), name);
  supported(found != names.end(), "does not support ", attribute, " '", name, "'");
  return static_cast<int>(found - names.begin());
}

ResizeLine rule_of(AttributeReader attributes) {
  ResizeLine line;
  line.mode = static_cast<ResizeMode>(number_of(std::array{"nearest", "linear", "cubic"},
                                                attributes.text("mode", "nearest"), "mode"));
  line.coordinates = static_cast<ResizeCoordinates>(
      number_of(std::array{"half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric",
                           "tf_crop_and_resize", "tf_half_pixel_for_nn"},
                attributes.text("coordinate_transformation_mode", "half_pixel"),
                "coordinate_transformation_mode"));
  line.nearest = static_cast<ResizeNearest>(
      number_of(std::array{"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"},
                attributes.text("nearest_mode", "round_prefer_floor"), "nearest_mode"));
  line.cubic_a = attributes.number("cubic_coeff_a", -0.75F);
  line.exclude_outside = attributes.integer("exclude_outside", 0) != 0;
  return line;
}

// `options` is the index of the operand with the region of interest; the next operand has the
// scales.
std::vector<ResizeLine> lines_of(const KernelRequest& request, const Dims& x, const Dims& y,
                                 std::size_t options) {
  auto values = [&](std::size_t i) {
    const Literal* literal = i < request.constants.size() ? request.constants[i] : nullptr;
    return literal && literal->count() > 0 ? literal->values<float>() : std::span<const float>();
  };
  const auto roi = values(options), scales = values(options + 1);
  std::vector<ResizeLine> lines(x.size(), rule_of(request.attributes()));
  for (std::size_t d = 0; d < x.size(); ++d) {
    ResizeLine& line = lines[d];
    line.before = x[d];
    line.after = y[d];
    line.scale = scales.empty() ? static_cast<double>(y[d]) / static_cast<double>(x[d])
                                : static_cast<double>(scales[d]);
    if (roi.size() != 2 * x.size()) continue;
    line.region_start = roi[d];
    line.region_end = roi[x.size() + d];
  }
  const int64_t block = std::max(request.in[0].block(), request.out[0].block());
  if (block > 1) {
    supported(x[1] == block && y[1] == block,
              "takes row-major images or whole channels, not blocks of ", block);
    std::rotate(lines.begin() + 1, lines.begin() + 2, lines.end());
  }
  return lines;
}

ResizePasses passes_of(std::vector<ResizeLine> lines, ResizeDirection direction) {
  const bool forward = direction == ResizeDirection::forward;
  ResizePasses all{direction, std::move(lines), {}};
  std::vector<int64_t> sizes;
  for (const ResizeLine& line : all.lines) sizes.push_back(forward ? line.before : line.after);
  for (int64_t size : sizes) all.count *= size;
  for (std::size_t d = 0; d < sizes.size() && all.count > 0; ++d) {
    const ResizeLine& line = all.lines[d];
    if (line.trivial()) continue;
    int64_t outer = 1, inner = 1;
    for (std::size_t i = 0; i < d; ++i) outer *= sizes[i];
    for (std::size_t i = d + 1; i < sizes.size(); ++i) inner *= sizes[i];
    const int64_t from = sizes[d];
    sizes[d] = forward ? line.after : line.before;
    all.passes.push_back({line, outer, from, sizes[d], inner});
    all.largest = std::max(all.largest, all.passes.back().count());
  }
  return all;
}

}  // namespace

// True if any position is outside the input. Positions are monotonic, so it is enough to check both
// ends. A loop over all positions could be unbounded if another dimension is empty.
bool ResizePasses::any_outside() const {
  return std::any_of(lines.begin(), lines.end(), [](const ResizeLine& line) {
    return line.after > 0 && (line.outside(int64_t{0}) || line.outside(line.after - 1));
  });
}

ResizePasses resize_passes(const KernelRequest& request) {
  ResizePasses passes = passes_of(lines_of(request, request.in[0].dims, request.out[0].dims, 1),
                                  ResizeDirection::forward);
  passes.extrapolation = request.attributes().number("extrapolation_value", 0);
  return passes;
}

ResizePasses resize_grad_passes(const KernelRequest& request) {
  std::vector<ResizeLine> lines = lines_of(request, request.out[0].dims, request.in[0].dims, 2);
  for (const ResizeLine& line : lines)
    supported(line.coordinates != ResizeCoordinates::crop,
              "has no gradient for tf_crop_and_resize");
  return passes_of(std::move(lines), ResizeDirection::back);
}

}  // namespace lockstep
