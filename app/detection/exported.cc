// SPDX-License-Identifier: Apache-2.0
#include "app/detection/exported.h"

#include <nlohmann/json.hpp>

#include "app/detection/network.h"
#include "graph/average.h"
#include "graph/listed.h"
#include "lockstep/model_files.h"
#include "models/detection/detector.h"
#include "models/detection/inputs.h"

namespace lockstep {
namespace {

using nlohmann::ordered_json;

constexpr const char* kLeftOut = "left_out";

// The constants of a network by the states of `model`. The constant of an average has the
// parameter's name.
StateValues constants_of(const TrainingModel& network, const TrainingModel& model) {
  StateValues values;
  const Graph& graph = network.inference;
  for (const State& state : model.states) {
    const bool averages = state.kind == StateKind::average;
    const Value value = graph.find(averages ? averaged_by(state.name) : state.name);
    if (const Literal* literal = value ? graph.literal(value) : nullptr)
      values.emplace(state.name, *literal);
  }
  return values;
}

// The way of a mask [resolution, resolution] into the picture, as pasted_mask() goes.
ordered_json mask_rules(const MaskOptions& mask) {
  return {{"resolution", mask.resolution},
          {"threshold", mask.thresh_binarize},
          {"pasting",
           "a border of zeros, one wide, around the mask; the box, without its last pixels, grown "
           "by (resolution + 2) / resolution; its corners cut towards zero, both pixels part of "
           "it; linear between pixel centres; above the threshold"}};
}

// The way of the largest cell of a heatmap [size, size] into the picture, as found_points() goes.
ordered_json point_rules(const KeypointOptions& points, const PointNames& names) {
  return {{"names", ordered_json::parse(metadata_of(names))},
          {"size", points.heatmap_size},
          {"inference_min_size", points.inference_min_size},
          {"resampling",
           "sides of the box less 1, at least 1; cells: these sides rounded up, at least "
           "inference_min_size; cubic between cell centres, coefficient -0.75; a point is the "
           "centre of the largest cell"},
          {"score", points.keypoint_confidence}};
}

// Sections and keys that change the results of `infer` and `test` outside of the graph.
std::vector<std::string> effects_outside(const DetectorConfig& config) {
  const bool masks = has_mask_head(config.network), points = has_keypoint_head(config.network);
  std::vector<std::string> keys;
  if (config.test.bbox_aug.enabled) keys.emplace_back("TEST.BBOX_AUG");
  if (masks && config.test.mask_aug.enabled) keys.emplace_back("TEST.MASK_AUG");
  if (points && config.test.kps_aug.enabled) keys.emplace_back("TEST.KPS_AUG");
  if (points && config.network.krcnn.nms_oks) keys.emplace_back("KRCNN.NMS_OKS");
  return keys;
}

}  // namespace

std::string picture_rules(const DetectorConfig& config, const PointNames& points) {
  const DetectorOptions& network = config.network;
  ordered_json rules{{"channels", "BGR"},
                     {"mean", config.pixel_means},
                     {"deviation", {1, 1, 1}},
                     {"scale", network.test.scale},
                     {"max_size", network.test.max_size},
                     {"rounding", "half to even"},
                     {"resize", "linear between pixel centres, by the exact scale"},
                     {"stride", input_stride(network)},
                     {"padding", 0},
                     {"im_info", {"height", "width", "scale"}},
                     {"boxes", {"left", "top", "right", "bottom"}},
                     {"score_threshold", network.test.score_thresh}};
  if (network.retinanet.retinanet_on) rules["score_threshold"] = network.retinanet.inference_th;
  if (takes_proposals(network)) rules["proposals"] = network.test.proposal_limit;
  if (!network.shape.open) {
    const InputSize size = input_size(network, Mode::infer);
    rules["size"] = {size.height, size.width};
  }
  if (has_mask_head(network)) rules["masks"] = mask_rules(network.mrcnn);
  if (has_keypoint_head(network)) rules["keypoints"] = point_rules(network.krcnn, points);
  const std::vector<std::string> outside = effects_outside(config);
  if (!outside.empty()) rules[kLeftOut] = listed(outside, ", ");
  return rules.dump();
}

std::string left_out_of_file(const TrainingModel& network) {
  const auto rules = network.metadata.find("picture");
  if (rules == network.metadata.end()) return "";
  return nlohmann::json::parse(rules->second).value(kLeftOut, "");
}

DetectorConfig with_open_prediction(DetectorConfig config) {
  config.network.shape.open = true;
  return config;
}

void fit_for_export(TrainingModel& network, DetectorConfig config, bool any_size) {
  config = on_one_replica(std::move(config));
  if (any_size) config = with_open_prediction(std::move(config));
  const DetectionShape& shape = config.network.shape;
  const TrainingModel fitting = detector_step(config, {shape.height, shape.width});
  network.inference = with_trained_values(fitting, constants_of(network, fitting)).inference;
  network.metadata["picture"] = picture_rules(config, point_names_in(network));
}

}  // namespace lockstep
