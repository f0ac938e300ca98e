// SPDX-License-Identifier: Apache-2.0
// The functions that Detectron's files name: bodies, heads, and blocks of bodies. A new body or
// head needs a function and a row in catalogue.cc.
#pragma once

#include <string>
#include <vector>

#include "models/detection/box_heads.h"
#include "models/detection/resnet_body.h"

namespace lockstep {

struct NamedFunction {
  std::string name;
  std::string former = "";  // an older name in Detectron
};

enum class Top { stage, pyramid, finest_of_pyramid };

struct BodyFunction : NamedFunction {
  Top top = Top::stage;
  ResidualBody residual = {};
  Body build = nullptr;
  // Another body than a ResNet has no numbered stages of blocks.
  bool is_residual() const { return residual.blocks[0] > 0; }
  bool has_stage_5() const { return is_residual() && residual.last_stage == 5; }
  // Of the body's last map, without a pyramid.
  int64_t stride(int64_t res5_dilation) const;
};

struct BoxHeadFunction : NamedFunction {
  BoxHead build = nullptr;
  bool normed = false;  // with group normalisation
  bool is_stage_5 = false;
  int64_t resolution = 0;  // of pooled RoIs; 0: FAST_RCNN.ROI_XFORM_RESOLUTION
};

struct MaskHeadFunction : NamedFunction {
  int64_t convs = 0;  // 3x3
  bool normed = false;
  bool is_stage_5 = false;
  bool shares_stage_5 = false;  // parameters of stage 5 are the box head's
};

struct KeypointHeadFunction : NamedFunction {
  bool is_stage_5 = false;
};

struct BlockFunction : NamedFunction {
  bool bottleneck = false;
  bool normed = false;
};

const std::vector<BodyFunction>& body_functions();                   // MODEL.CONV_BODY
const std::vector<BoxHeadFunction>& box_head_functions();            // FAST_RCNN.ROI_BOX_HEAD
const std::vector<MaskHeadFunction>& mask_head_functions();          // MRCNN.ROI_MASK_HEAD
const std::vector<KeypointHeadFunction>& keypoint_head_functions();  // KRCNN.ROI_KEYPOINTS_HEAD
const std::vector<BlockFunction>& stem_functions();                  // RESNETS.STEM_FUNC
const std::vector<BlockFunction>& transformation_functions();        // RESNETS.TRANS_FUNC
const std::vector<BlockFunction>& shortcut_functions();              // RESNETS.SHORTCUT_FUNC

// Null for an unknown name.
template <class Function>
const Function* function_in(const std::vector<Function>& functions, const std::string& name) {
  for (const Function& function : functions)
    if (function.name == name) return &function;
  return nullptr;
}

}  // namespace lockstep
