// SPDX-License-Identifier: Apache-2.0
#include "app/detection/types.h"

namespace lockstep {
namespace {

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
  const auto hard_wired = [&](std::initializer_list<const char*> names, bool frozen, bool has_rpn) {
    for (const char* name : names) types.push_back({name, general, frozen, true, has_rpn});
  };
  hard_wired(
      {"VGG_CNN_M_1024_fast_rcnn", "VGG16_fast_rcnn", "ResNet50_fast_rcnn", "ResNet101_fast_rcnn"},
      false, false);
  hard_wired({"ResNet50_fast_rcnn_frozen", "ResNet101_fast_rcnn_frozen"}, true, false);
  hard_wired({"VGG_CNN_M_1024_rpn", "VGG16_rpn", "ResNet50_rpn_conv4", "ResNet101_rpn_conv4",
              "VGG16_faster_rcnn", "ResNet50_faster_rcnn", "ResNet101_faster_rcnn"},
             false, true);
  hard_wired({"VGG_CNN_M_1024_rpn_frozen_features", "VGG16_rpn_frozen_features",
              "ResNet50_rpn_conv4_frozen_features", "ResNet101_rpn_conv4_frozen_features"},
             true, true);
  for (const char* name : {"ResNet50_rfcn", "ResNet101_rfcn"})
    types.push_back({name, "rfcn", false, true});
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
