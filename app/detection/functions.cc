// SPDX-License-Identifier: Apache-2.0
#include "app/detection/functions.h"

#include <algorithm>

#include "graph/error.h"
#include "graph/listed.h"
#include "graph/nearest.h"

namespace lockstep {
namespace {

// Bodies of Detectron, and ours of ResNet18 and 34.
std::vector<std::string> body_names() {
  std::vector<std::string> names;
  for (const char* depth : {"18", "34", "50", "101"})
    names.push_back(join("ResNet.add_ResNet", depth, "_conv4_body"));
  for (const char* depth : {"18", "34", "50", "101", "152"}) {
    names.push_back(join("ResNet.add_ResNet", depth, "_conv5_body"));
    names.push_back(join("FPN.add_fpn_ResNet", depth, "_conv5_body"));
  }
  for (const char* depth : {"50", "101", "152"})
    names.push_back(join("FPN.add_fpn_ResNet", depth, "_conv5_P2only_body"));
  names.insert(names.end(),
               {"VGG16.add_VGG16_conv5_body", "VGG_CNN_M_1024.add_VGG_CNN_M_1024_conv5_body"});
  return names;
}

std::vector<FunctionKey> list_of_function_keys() {
  return {
      {"MODEL.CONV_BODY",
       [](DetectorConfig& c) -> std::string& { return c.network.model.conv_body; }, body_names()},
      {"FAST_RCNN.ROI_BOX_HEAD",
       [](DetectorConfig& c) -> std::string& { return c.network.fast_rcnn.roi_box_head; },
       {"ResNet.add_ResNet_roi_conv5_head", "fast_rcnn_heads.add_roi_2mlp_head",
        "fast_rcnn_heads.add_roi_Xconv1fc_head", "fast_rcnn_heads.add_roi_Xconv1fc_gn_head",
        "VGG16.add_VGG16_roi_fc_head", "VGG_CNN_M_1024.add_VGG_CNN_M_1024_roi_fc_head"}},
      {"MRCNN.ROI_MASK_HEAD",
       [](DetectorConfig& c) -> std::string& { return c.network.mrcnn.roi_mask_head; },
       {"mask_rcnn_heads.mask_rcnn_fcn_head_v1up4convs",
        "mask_rcnn_heads.mask_rcnn_fcn_head_v1up4convs_gn",
        "mask_rcnn_heads.mask_rcnn_fcn_head_v1up", "mask_rcnn_heads.mask_rcnn_fcn_head_v0upshare",
        "mask_rcnn_heads.mask_rcnn_fcn_head_v0up"}},
      {"KRCNN.ROI_KEYPOINTS_HEAD",
       [](DetectorConfig& c) -> std::string& { return c.network.krcnn.roi_keypoints_head; },
       {"keypoint_rcnn_heads.add_roi_pose_head_v1convX",
        "keypoint_rcnn_heads.add_ResNet_roi_conv5_head_for_keypoints"}},
      {"RESNETS.STEM_FUNC",
       [](DetectorConfig& c) -> std::string& { return c.network.resnets.stem_func; },
       {"basic_bn_stem", "basic_gn_stem"}},
      {"RESNETS.TRANS_FUNC",
       [](DetectorConfig& c) -> std::string& { return c.network.resnets.trans_func; },
       {"bottleneck_transformation", "bottleneck_gn_transformation", "basic_transformation",
        "basic_gn_transformation"}},
      {"RESNETS.SHORTCUT_FUNC",
       [](DetectorConfig& c) -> std::string& { return c.network.resnets.shortcut_func; },
       {"basic_bn_shortcut", "basic_gn_shortcut"}},
  };
}

// Detectron once had the first, and has the second.
constexpr const char* kFormerNames[][2] = {
    {"head_builder.add_roi_2mlp_head", "fast_rcnn_heads.add_roi_2mlp_head"},
    {"mask_rcnn_heads.ResNet_mask_rcnn_fcn_head_v1up4convs",
     "mask_rcnn_heads.mask_rcnn_fcn_head_v1up4convs"},
    {"mask_rcnn_heads.ResNet_mask_rcnn_fcn_head_v1up", "mask_rcnn_heads.mask_rcnn_fcn_head_v1up"},
    {"mask_rcnn_heads.ResNet_mask_rcnn_fcn_head_v0upshare",
     "mask_rcnn_heads.mask_rcnn_fcn_head_v0upshare"},
    {"mask_rcnn_heads.ResNet_mask_rcnn_fcn_head_v0up", "mask_rcnn_heads.mask_rcnn_fcn_head_v0up"}};

std::string without_module(const std::string& name) {
  const std::size_t dot = name.rfind('.');
  return dot == name.npos ? name : name.substr(dot + 1);
}

// "FPN.f" may be "f", "FPN.f", "modeling.FPN.f" or "detectron.modeling.FPN.f". What blocks are
// made of lies in the module ResNet, but is known without it.
bool is_spelling_of(const std::string& name, const std::string& spelled) {
  const std::string whole = name.find('.') == name.npos ? "ResNet." + name : name;
  return spelled == whole || spelled == without_module(name) || spelled == "modeling." + whole ||
         spelled == "detectron.modeling." + whole;
}

}  // namespace

const std::vector<FunctionKey>& function_keys() {
  static const std::vector<FunctionKey> keys = list_of_function_keys();
  return keys;
}

FunctionName function_named(const FunctionKey& key, const std::string& spelled) {
  const auto known = [&](const std::string& word) {
    return std::find_if(key.names.begin(), key.names.end(),
                        [&](const std::string& name) { return is_spelling_of(name, word); });
  };
  if (const auto found = known(spelled); found != key.names.end()) return {*found};
  for (const auto& [former, now] : kFormerNames)
    if (is_spelling_of(former, spelled) && known(now) != key.names.end()) return {now, true};
  // Modules are compared, too, unless the function's own name is known.
  const auto by_name = known(without_module(spelled));
  const std::string near = by_name != key.names.end() ? *by_name : nearest(spelled, key.names);
  fail("no function is called '", spelled, "'; ",
       near.empty() ? "known are " + listed(key.names) : "did you mean " + near + "?");
}

}  // namespace lockstep
