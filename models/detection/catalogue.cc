// SPDX-License-Identifier: Apache-2.0
#include "models/detection/catalogue.h"

#include <array>

#include "lockstep/error.h"
#include "models/detection/vgg_body.h"

namespace lockstep {
namespace {

struct Depth {
  int layers;
  std::array<int64_t, 4> blocks;
  bool has_conv4_body, has_finest_level_body;
};

// Detectron's bodies, and additional bodies with 18 and 34 layers.
std::vector<BodyFunction> list_of_bodies() {
  const Depth depths[] = {{18, {2, 2, 2, 2}, true, false},
                          {34, {3, 4, 6, 3}, true, false},
                          {50, {3, 4, 6, 3}, true, true},
                          {101, {3, 4, 23, 3}, true, true},
                          {152, {3, 8, 36, 3}, false, true}};
  std::vector<BodyFunction> bodies;
  const auto add = [&](const std::string& name, Top top, const Depth& depth, int64_t last_stage) {
    bodies.push_back({{name}, top, {depth.blocks, last_stage}, residual_body});
  };
  for (const Depth& depth : depths)
    if (depth.has_conv4_body)
      add(join("ResNet.add_ResNet", depth.layers, "_conv4_body"), Top::stage, depth, 4);
  for (const Depth& depth : depths) {
    add(join("ResNet.add_ResNet", depth.layers, "_conv5_body"), Top::stage, depth, 5);
    add(join("FPN.add_fpn_ResNet", depth.layers, "_conv5_body"), Top::pyramid, depth, 5);
  }
  for (const Depth& depth : depths)
    if (depth.has_finest_level_body)
      add(join("FPN.add_fpn_ResNet", depth.layers, "_conv5_P2only_body"), Top::finest_of_pyramid,
          depth, 5);
  bodies.push_back({{"VGG16.add_VGG16_conv5_body"}, Top::stage, {}, vgg16_body});
  bodies.push_back({{"VGG_CNN_M_1024.add_VGG_CNN_M_1024_conv5_body"}, Top::stage, {}, vgg_m_body});
  return bodies;
}

}  // namespace

int64_t BodyFunction::stride(int64_t res5_dilation) const {
  if (top == Top::finest_of_pyramid) return 4;
  return has_stage_5() && res5_dilation == 1 ? 32 : 16;
}

const std::vector<BodyFunction>& body_functions() {
  static const std::vector<BodyFunction> functions = list_of_bodies();
  return functions;
}

const std::vector<BoxHeadFunction>& box_head_functions() {
  static const std::vector<BoxHeadFunction> functions{
      {{"ResNet.add_ResNet_roi_conv5_head"}, box_head_residual, false, true},
      {{"fast_rcnn_heads.add_roi_2mlp_head", "head_builder.add_roi_2mlp_head"}, box_head_2mlp},
      {{"fast_rcnn_heads.add_roi_Xconv1fc_head"}, box_head_convs_fc},
      {{"fast_rcnn_heads.add_roi_Xconv1fc_gn_head"}, box_head_convs_gn_fc, true},
      {{"VGG16.add_VGG16_roi_fc_head"}, box_head_vgg16, false, false, 7},
      {{"VGG_CNN_M_1024.add_VGG_CNN_M_1024_roi_fc_head"}, box_head_vgg_m, false, false, 6}};
  return functions;
}

const std::vector<MaskHeadFunction>& mask_head_functions() {
  const auto head = [](const std::string& name) {
    return NamedFunction{"mask_rcnn_heads.mask_rcnn_fcn_head_" + name,
                         "mask_rcnn_heads.ResNet_mask_rcnn_fcn_head_" + name};
  };
  static const std::vector<MaskHeadFunction> functions{
      {head("v1up4convs"), 4},
      {{"mask_rcnn_heads.mask_rcnn_fcn_head_v1up4convs_gn"}, 4, true},
      {head("v1up"), 2},
      {head("v0upshare"), 0, false, true, true},
      {head("v0up"), 0, false, true}};
  return functions;
}

const std::vector<KeypointHeadFunction>& keypoint_head_functions() {
  static const std::vector<KeypointHeadFunction> functions{
      {{"keypoint_rcnn_heads.add_roi_pose_head_v1convX"}},
      {{"keypoint_rcnn_heads.add_ResNet_roi_conv5_head_for_keypoints"}, true}};
  return functions;
}

const std::vector<BlockFunction>& stem_functions() {
  static const std::vector<BlockFunction> functions{{{"basic_bn_stem"}, false, false},
                                                    {{"basic_gn_stem"}, false, true}};
  return functions;
}

const std::vector<BlockFunction>& transformation_functions() {
  static const std::vector<BlockFunction> functions{{{"bottleneck_transformation"}, true, false},
                                                    {{"bottleneck_gn_transformation"}, true, true},
                                                    {{"basic_transformation"}, false, false},
                                                    {{"basic_gn_transformation"}, false, true}};
  return functions;
}

const std::vector<BlockFunction>& shortcut_functions() {
  static const std::vector<BlockFunction> functions{{{"basic_bn_shortcut"}, false, false},
                                                    {{"basic_gn_shortcut"}, false, true}};
  return functions;
}

}  // namespace lockstep
