// SPDX-License-Identifier: Apache-2.0
#include "app/detection/datasets/keypoint_rules.h"

#include <nlohmann/json.hpp>

#include "data/coco/keypoints.h"
#include "graph/listed.h"
#include "lockstep/error.h"
#include "models/detection/detector.h"

namespace lockstep {
namespace {

using nlohmann::ordered_json;

void check_points(const DetectorConfig& config, const Annotations& table) {
  const int64_t wanted = config.network.krcnn.num_keypoints;
  for (const CocoCategory& category : table.categories) {
    const auto points = static_cast<int64_t>(category.keypoints.size());
    check(points == 0 || points == wanted,
          config.origins.blame({"KRCNN.NUM_KEYPOINTS"}, config.path), " is ", wanted,
          ", but category '", category.name, "' of ", table.path, " has ", points,
          " keypoints; should be ", points);
  }
}

// The keys that make views of TEST.KPS_AUG mirrored.
std::vector<std::string> flipping_keys(const KeypointAugmentation& views) {
  std::vector<std::string> keys;
  if (!views.enabled) return keys;
  if (views.h_flip) keys.emplace_back("TEST.KPS_AUG.H_FLIP");
  if (views.scale_h_flip && !views.scales.empty()) keys.emplace_back("TEST.KPS_AUG.SCALE_H_FLIP");
  if (views.aspect_ratio_h_flip && !views.aspect_ratios.empty())
    keys.emplace_back("TEST.KPS_AUG.ASPECT_RATIO_H_FLIP");
  return keys;
}

}  // namespace

bool KeypointRules::has_points(int64_t kind) const {
  if (classes.empty()) return kind > 0;
  return kind > 0 && kind <= static_cast<int64_t>(classes.size()) && classes[kind - 1].has_value();
}

const KeypointPairs& KeypointRules::pairs(int64_t kind) const {
  static const KeypointPairs none_at_all;
  return !classes.empty() && has_points(kind) ? *classes[kind - 1] : none_at_all;
}

KeypointRules keypoint_rules_of(const DetectorConfig& config, const Annotations& table) {
  check_points(config, table);
  KeypointRules rules;
  for (const CocoCategory& category : table.categories)
    rules.classes.push_back(category.keypoints.empty() ? std::nullopt
                                                       : std::optional(category.swap));
  rules.sigmas = sigmas_of(table);
  const auto sigmas = static_cast<int64_t>(rules.sigmas.size());
  check(sigmas == config.network.krcnn.num_keypoints, table.path, ": there are ", sigmas,
        " KEYPOINT_SIGMAS for ", config.network.krcnn.num_keypoints, " keypoints");
  return rules;
}

std::string metadata_of(const KeypointRules& rules) {
  ordered_json said{{"sigmas", rules.sigmas}, {"classes", ordered_json::array()}};
  for (const auto& pairs : rules.classes)
    said["classes"].push_back(pairs ? ordered_json{{"swap", *pairs}} : ordered_json(nullptr));
  return said.dump();
}

KeypointRules keypoint_rules_in(const TrainingModel& file) {
  KeypointRules rules;
  const auto text = file.metadata.find(kKeypointRules);
  if (text == file.metadata.end()) return rules;
  try {
    const auto said = ordered_json::parse(text->second);
    said.at("sigmas").get_to(rules.sigmas);
    for (const ordered_json& of_class : said.at("classes"))
      rules.classes.push_back(of_class.is_null() ? std::nullopt
                                                 : std::optional<KeypointPairs>(
                                                       of_class.at("swap").get<KeypointPairs>()));
  } catch (const nlohmann::json::exception& error) {
    fail("the metadata '", kKeypointRules,
         "' of the network's file cannot be read: ", error.what());
  }
  return rules;
}

void check_rules_suffice(const DetectorConfig& config, const KeypointRules& rules,
                         const std::string& source) {
  if (!has_keypoint_head(config.network)) return;
  const std::string give = join(" (metadata '", kKeypointRules,
                                "'); give a run of `lockstep train` or its model.onnx, or set ");
  const std::vector<std::string> flips = flipping_keys(config.test.kps_aug);
  if (!flips.empty() && rules.classes.empty())
    fail(config.origins.blame(flips, config.path), " is true, but ", source,
         " does not say which keypoints change places in a mirrored picture", give, listed(flips),
         " to false");
  if (config.network.krcnn.nms_oks && rules.sigmas.empty())
    fail(config.origins.blame({"KRCNN.NMS_OKS"}, config.path), " is true, but ", source,
         " has no sigmas of keypoints, by which points are similar", give,
         "KRCNN.NMS_OKS to false");
}

}  // namespace lockstep
