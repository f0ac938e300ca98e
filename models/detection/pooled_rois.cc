// SPDX-License-Identifier: Apache-2.0
#include "models/detection/pooled_rois.h"

#include <cmath>

#include "builders/detection/coding.h"
#include "lockstep/operators.h"
#include "models/detection/roi_maps.h"
#include "operators/kit/operator_helpers.h"
#include "operators/roi/roi.h"

namespace lockstep {

Value roi_levels(Graph& graph, const FpnOptions& fpn, InputBoxes rois, const std::string& name) {
  const auto unary = [&](const char* type, Value x, const char* ending) {
    return graph.add_value({.type = type, .inputs = {x}}, name + ending);
  };
  const Value sides = box_sides(graph, rois.value, name + "_sides");
  const Value area = mul(graph, slice(graph, sides, 1, 0, 1, name + "_w"),
                         slice(graph, sides, 1, 1, 2, name + "_h"), name + "_area");
  // A box lower than a pixel, whose last pixel is scaled, may end before its first pixel.
  const Value positive = unary("Relu", area, "_area_positive");
  const Value scale = unary("Sqrt", positive, "_side");
  const Value relative =
      div(graph, scale, shared_number(graph, fpn.roi_canonical_scale), name + "_relative");
  // Adding 1e-6 keeps a RoI with exactly a level's size on this level.
  const Value log =
      unary("Log", add(graph, relative, shared_number(graph, 1e-6), name + "_moved"), "_log");
  const Value octaves = mul(graph, log, shared_number(graph, 1 / std::log(2.0)), name + "_octaves");
  const Value level = unary(
      "Floor",
      add(graph, octaves,
          shared_number(graph, static_cast<double>(fpn.roi_canonical_level - fpn.roi_min_level)),
          name + "_exact"),
      "_floor");
  const Value limited =
      clip(graph, level, 0, static_cast<float>(fpn.roi_max_level - fpn.roi_min_level),
           name + "_limited");
  return reshape(graph, cast(graph, limited, DType::int64, name + "_numbers"), {-1}, name);
}

ListedRois listed_rois(Graph& graph, PictureBoxes rois, Value im_info, const std::string& name) {
  const int64_t images = graph.shape(rois.value)[0].size();
  const int64_t places = graph.shape(rois.value)[1].size();
  std::vector<int64_t> image_of;
  for (int64_t roi = 0; roi < images * places; ++roi) image_of.push_back(roi / places);
  const Value image = graph.constant(name + "_image", Literal::vector(image_of));
  const InputBoxes scaled = to_input(graph, rois, im_info, name + "_rois_scaled");
  const Value last = with_last_pixels(graph, scaled, name + "_rois_last");
  return {scaled, reshape(graph, last, {-1, 4}, name + "_rois"), image};
}

Feature pooled_rois(Net& net, const DetectorOptions& options, const Features& features,
                    PictureBoxes rois, Value im_info, const RoiPooling& pooling,
                    const std::string& name) {
  Graph& graph = net.graph;
  const ListedRois listed = listed_rois(graph, rois, im_info, name);
  const Value boxes = listed.last_pixels, image = listed.images;
  const RoiAlignAttrs align{.height = pooling.resolution,
                            .width = pooling.resolution,
                            .sampling_ratio = pooling.sampling_ratio};
  const std::vector<Feature> sources = roi_maps(options, features);
  if (!pools_from_levels(options, features)) {
    const Feature& map = sources.front();
    const float scale = 1.0F / static_cast<float>(map.stride);
    if (pooling.method == "RoIAlign")
      return {roi_align(graph, map.x, boxes, image, scale, align, name), map.channels, 0, name};
    const Value column = reshape(graph, cast(graph, image, DType::float32, name + "_image_number"),
                                 {-1, 1}, name + "_image_column");
    const Value five = concat(graph, {column, boxes}, 1, name + "_image_rois");
    return {max_roi_pool(graph, map.x, five, pooling.resolution, pooling.resolution, scale, name),
            map.channels, 0, name};
  }
  check(pooling.method == "RoIAlign", "RoIs of several levels are pooled by RoIAlign, not by ",
        pooling.method, " (FPN.MULTILEVEL_ROIS and ROI_XFORM_METHOD)");
  std::vector<Value> maps;
  std::vector<float> scales;
  for (const Feature& level : sources) {
    maps.push_back(level.x);
    scales.push_back(1.0F / static_cast<float>(level.stride));
  }
  const InputBoxes flat(reshape(graph, listed.boxes.value, {-1, 4}, name + "_rois_boxes"));
  const Value levels = roi_levels(graph, options.fpn, flat, name + "_level");
  return {multilevel_roi_align(graph, maps, boxes, image, levels, scales, align, name),
          sources.front().channels, 0, name};
}

}  // namespace lockstep
