// SPDX-License-Identifier: Apache-2.0
#include "app/detection/config/types.h"

namespace lockstep {
namespace {

// The names that choose a whole network.
std::vector<DetectorType> hard_wired_types() {
  struct Network {
    const char *name, *body, *head;
    const char* rpn = "_rpn";
    bool has_faster = true;
  };
  const char* const stage_5 = "ResNet.add_ResNet_roi_conv5_head";
  const Network networks[] = {
      {"VGG_CNN_M_1024", "VGG_CNN_M_1024.add_VGG_CNN_M_1024_conv5_body",
       "VGG_CNN_M_1024.add_VGG_CNN_M_1024_roi_fc_head", "_rpn", false},
      {"VGG16", "VGG16.add_VGG16_conv5_body", "VGG16.add_VGG16_roi_fc_head"},
      {"ResNet50", "ResNet.add_ResNet50_conv4_body", stage_5, "_rpn_conv4"},
      {"ResNet101", "ResNet.add_ResNet101_conv4_body", stage_5, "_rpn_conv4"}};
  std::vector<DetectorType> types;
  for (const Network& network : networks) {
    const std::string name = network.name;
    DetectorType type{"", "generalized_rcnn", false, network.body, network.head};
    const auto add = [&](const std::string& ending) {
      type.name = name + ending;
      types.push_back(type);
    };
    add("_fast_rcnn");
    if (network.head == stage_5) {
      type.frozen_features = true;
      add("_fast_rcnn_frozen_features");
      type.frozen_features = false;
    }
    if (network.has_faster) {
      type.faster_rcnn = true;
      add("_faster_rcnn");
      type.faster_rcnn = false;
    }
    type.box_head.clear();
    type.rpn_only = true;
    add(network.rpn);
    type.frozen_features = true;
    add(std::string(network.rpn) + "_frozen_features");
  }
  for (const char* name : {"ResNet50", "ResNet101"}) {
    DetectorType type{std::string(name) + "_rfcn", "rfcn"};
    type.body = "ResNet.add_" + std::string(name) + "_conv5_body";
    type.reduced_channels = 1024;
    types.push_back(type);
  }
  return types;
}

std::vector<DetectorType> list_of_types() {
  const std::string general = "generalized_rcnn";
  std::vector<DetectorType> types{{general, ""}, {"retinanet", ""}, {"rfcn", ""}};
  for (const char* name : {"fast_rcnn", "mask_rcnn", "keypoint_rcnn", "mask_and_keypoint_rcnn",
                           "rpn", "fpn_rpn", "faster_rcnn"})
    types.push_back({name, general});
  for (const char* name :
       {"fast_rcnn_frozen_features", "mask_rcnn_frozen_features", "keypoint_rcnn_frozen_features",
        "rpn_frozen_features", "fpn_rpn_frozen_features"})
    types.push_back({name, general, true});
  for (DetectorType& type : hard_wired_types()) types.push_back(std::move(type));
  return types;
}

}  // namespace

const std::vector<DetectorType>& detector_types() {
  static const std::vector<DetectorType> types = list_of_types();
  return types;
}

const DetectorType* detector_type(const std::string& name) {
  for (const DetectorType& type : detector_types())
    if (type.name == name) return &type;
  return nullptr;
}

}  // namespace lockstep
