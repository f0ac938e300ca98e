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
  Body build = nullptr;  // null: files may name it, and building its network is refused
  bool is_built() const { return build != nullptr; }
  bool has_stage_5() const { return residual.last_stage == 5; }
};

struct BoxHeadFunction : NamedFunction {
  BoxHead build = nullptr;  // null: files may name it, and building its network is refused
  bool normed = false;      // with group normalisation
  bool is_stage_5 = false;
  bool is_built() const { return build != nullptr; }
};

struct MaskHeadFunction : NamedFunction {
  bool normed = false;
  bool is_stage_5 = false;
};

struct BlockFunction : NamedFunction {
  bool bottleneck = false;
  bool normed = false;
};

const std::vector<BodyFunction>& body_functions();             // MODEL.CONV_BODY
const std::vector<BoxHeadFunction>& box_head_functions();      // FAST_RCNN.ROI_BOX_HEAD
const std::vector<MaskHeadFunction>& mask_head_functions();    // MRCNN.ROI_MASK_HEAD
const std::vector<NamedFunction>& keypoint_head_functions();   // KRCNN.ROI_KEYPOINTS_HEAD
const std::vector<BlockFunction>& stem_functions();            // RESNETS.STEM_FUNC
const std::vector<BlockFunction>& transformation_functions();  // RESNETS.TRANS_FUNC
const std::vector<BlockFunction>& shortcut_functions();        // RESNETS.SHORTCUT_FUNC

// Null for an unknown name.
template <class Function>
const Function* function_in(const std::vector<Function>& functions, const std::string& name) {
  for (const Function& function : functions)
    if (function.name == name) return &function;
  return nullptr;
}

}  // namespace lockstep
