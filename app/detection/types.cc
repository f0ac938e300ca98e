// SPDX-License-Identifier: Apache-2.0
#include "app/detection/types.h"

#include <algorithm>

#include "graph/graph.h"
#include "graph/nearest.h"
#include "models/models.h"

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
  for (const char* name :
       {"VGG_CNN_M_1024_fast_rcnn", "VGG16_fast_rcnn", "ResNet50_fast_rcnn", "ResNet101_fast_rcnn",
        "ResNet50_fast_rcnn_frozen", "ResNet101_fast_rcnn_frozen", "VGG_CNN_M_1024_rpn",
        "VGG16_rpn", "ResNet50_rpn_conv4", "ResNet101_rpn_conv4",
        "VGG_CNN_M_1024_rpn_frozen_features", "VGG16_rpn_frozen_features",
        "ResNet50_rpn_conv4_frozen_features", "ResNet101_rpn_conv4_frozen_features",
        "VGG16_faster_rcnn", "ResNet50_faster_rcnn", "ResNet101_faster_rcnn"})
    types.push_back({name, general, std::string(name).find("_frozen") != std::string::npos, true});
  for (const char* name : {"ResNet50_rfcn", "ResNet101_rfcn"})
    types.push_back({name, "rfcn", false, true});
  return types;
}

std::optional<PlacedText> type_said(const ConfigFiles& files,
                                    const std::vector<std::string>& words) {
  return said_of("MODEL.TYPE", files, words);
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

bool is_detector(const ConfigFiles& files, const std::vector<std::string>& words) {
  const auto said = type_said(files, words);
  if (!said) return false;
  if (detector_type(said->text)) return true;
  std::vector<std::string> names = model_names();
  if (std::find(names.begin(), names.end(), said->text) != names.end()) return false;
  for (const DetectorType& type : detector_types()) names.push_back(type.name);
  const std::string near = nearest(said->text, names);
  check(!detector_type(near), said->at, ": MODEL.TYPE '", said->text,
        "' is not known; did you mean ", near, "?");
  return false;
}

void refuse_detector(const ConfigFiles& files, const std::vector<std::string>& words) {
  if (!is_detector(files, words)) return;
  const PlacedText said = *type_said(files, words);
  throw Unsupported(join(said.at, ": MODEL.TYPE ", said.text,
                         " is a detector, which has keys of its own: lockstep keys --task "
                         "detection"));
}

}  // namespace lockstep
