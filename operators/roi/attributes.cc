// SPDX-License-Identifier: Apache-2.0
#include "operators/roi/attributes.h"

#include <cmath>

namespace lockstep {
namespace {

constexpr int64_t kMostPoints = 65536;

}  // namespace

RoiAlignAttrs read_roi_align(AttributeReader& attributes) {
  RoiAlignAttrs attrs{attributes.integer("output_height", 1), attributes.integer("output_width", 1),
                      attributes.integer("sampling_ratio", 0)};
  check_pooled_size(attrs.height, attrs.width);
  check(attrs.sampling_ratio >= 0 && attrs.sampling_ratio <= kMostPoints, "sampling_ratio is ",
        attrs.sampling_ratio, ", should be 0 to ", kMostPoints);
  const std::string mode = attributes.text("coordinate_transformation_mode", "half_pixel");
  check(mode == "half_pixel" || mode == "output_half_pixel", "coordinate_transformation_mode is '",
        mode, "', should be half_pixel or output_half_pixel");
  attrs.half_pixel = mode == "half_pixel";
  const std::string pooling = attributes.text("mode", "avg");
  check(pooling == "avg" || pooling == "max", "mode is '", pooling, "', should be avg or max");
  attrs.max = pooling == "max";
  return attrs;
}

void check_roi_scale(float scale) {
  check(scale > 0 && std::isfinite(scale), "spatial_scale is ", scale, ", should be above 0");
}

void check_pooled_size(int64_t height, int64_t width) {
  check(height > 0 && width > 0, "the output is ", height, " x ", width,
        ", should be at least 1 x 1");
}

Dim demand_rois(const Inference& inference, std::size_t i, int columns) {
  demand_dims(inference, i, 2);
  const Dim count = inference.input(i).shape[0];
  demand_shape(inference, i, {count, columns});
  return count;
}

void demand_indices(const Inference& inference, std::size_t i, const Dim& rois) {
  demand_type(inference, i, DType::int64);
  demand_dims(inference, i, 1);
  demand_shape(inference, i, {rois});
}

void demand_floats(const Inference& inference, std::size_t i) {
  check(is_floating(inference.input(i).dtype), what_is(inference, i), ", should be of floats");
}

Shape pooled(const Dim& rois, const Dim& channels, const RoiAlignAttrs& attrs) {
  return {rois, channels, attrs.height, attrs.width};
}

Attributes write_roi_align(const RoiAlignAttrs& attrs) {
  return {
      {"output_height", attrs.height},
      {"output_width", attrs.width},
      {"sampling_ratio", attrs.sampling_ratio},
      {"coordinate_transformation_mode", attrs.half_pixel ? "half_pixel" : "output_half_pixel"}};
}

Flops roi_align_flops(const Node& node, double values) {
  constexpr int64_t kUsualRatio = 2;
  AttributeReader attributes = node.attributes();
  const int64_t ratio = read_roi_align(attributes).sampling_ratio;
  const auto along = static_cast<double>(ratio > 0 ? ratio : kUsualRatio);
  return {.others = 8 * along * along * values};
}

std::vector<FormalAttribute> roi_align_formals() {
  return {{"output_height", AttributeKind::integer},
          {"output_width", AttributeKind::integer},
          {"sampling_ratio", AttributeKind::integer},
          {"coordinate_transformation_mode", AttributeKind::text}};
}

}  // namespace lockstep
