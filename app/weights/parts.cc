// SPDX-License-Identifier: Apache-2.0
#include "app/weights/parts.h"

#include "app/weights/pattern.h"

namespace lockstep {

const NormPair kNormPairs[3] = {
    {"RESNETS.STEM_FUNC", R"(res_conv1_bn_s)", R"(conv1_gn_s)"},
    {"RESNETS.TRANS_FUNC", R"(res\d_\d+_branch2a_bn_s)", R"(res\d_\d+_branch2a_gn_s)"},
    {"RESNETS.SHORTCUT_FUNC", R"(res\d_\d+_branch1_bn_s)", R"(res\d_\d+_branch1_gn_s)"}};

std::string body_part_of(const std::string& name) {
  static const std::regex stem(R"((res_)?conv1(_bn|_gn)?_[wsb])");
  static const std::regex stage(R"(res([2-5])_\d+_branch.*_[wsb])");
  static const std::regex of_vgg(R"(conv([1-5])_\d_[wb])");
  std::smatch match;
  if (fits_pattern(name, stem)) return "the stem";
  if (fits_pattern(name, match, stage)) return "stage " + match[1].str();
  if (fits_pattern(name, match, of_vgg)) return "block " + match[1].str();
  return "";
}

const LastLayer* last_layer_of(const std::string& name) {
  // The weight of a transposed convolution has its outputs second; bilinear layers have as many
  // inputs as outputs.
  static constexpr LastLayer kLayers[] = {
      {R"((cls_score|bbox_pred|retnet_(cls|bbox)_pred_fpn\d+|conv_cls|conv_bbox_pred)_[wb])",
       "classes", 1},
      {"mask_fcn_logits_[wb]", "classes", 1},
      {"mask_fcn_logits_up_[wb]", "classes", 2},
      {"kps_score(_lowres)?_[wb]", "keypoints", 2}};
  for (const LastLayer& layer : kLayers)
    if (fits_pattern(name, std::regex(layer.pattern))) return &layer;
  return nullptr;
}

std::string shared_name_of(const std::string& name) {
  static const std::regex shared(R"(_\[[a-z]+\]_(.+))");
  std::smatch match;
  return fits_pattern(name, match, shared) ? match[1].str() : "";
}

}  // namespace lockstep
