// SPDX-License-Identifier: Apache-2.0
#include "app/detection/config/functions.h"

#include <algorithm>

#include "graph/listed.h"
#include "graph/nearest.h"
#include "graph/print.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

template <class Function>
std::vector<NamedFunction> names_of(const std::vector<Function>& functions) {
  return {functions.begin(), functions.end()};
}

std::vector<FunctionKey> list_of_function_keys() {
  return {
      {"MODEL.CONV_BODY",
       [](DetectorConfig& c) -> std::string& { return c.network.model.conv_body; },
       names_of(body_functions())},
      {"FAST_RCNN.ROI_BOX_HEAD",
       [](DetectorConfig& c) -> std::string& { return c.network.fast_rcnn.roi_box_head; },
       names_of(box_head_functions())},
      {"MRCNN.ROI_MASK_HEAD",
       [](DetectorConfig& c) -> std::string& { return c.network.mrcnn.roi_mask_head; },
       names_of(mask_head_functions())},
      {"KRCNN.ROI_KEYPOINTS_HEAD",
       [](DetectorConfig& c) -> std::string& { return c.network.krcnn.roi_keypoints_head; },
       names_of(keypoint_head_functions())},
      {"RESNETS.STEM_FUNC",
       [](DetectorConfig& c) -> std::string& { return c.network.resnets.stem_func; },
       names_of(stem_functions())},
      {"RESNETS.TRANS_FUNC",
       [](DetectorConfig& c) -> std::string& { return c.network.resnets.trans_func; },
       names_of(transformation_functions())},
      {"RESNETS.SHORTCUT_FUNC",
       [](DetectorConfig& c) -> std::string& { return c.network.resnets.shortcut_func; },
       names_of(shortcut_functions())},
  };
}

std::string without_module(const std::string& name) {
  const std::size_t dot = name.rfind('.');
  return dot == name.npos ? name : name.substr(dot + 1);
}

// "FPN.f" may be spelled "f", "FPN.f", "modeling.FPN.f" or "detectron.modeling.FPN.f". Functions of
// blocks are in the module ResNet, and their names lack it.
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

std::vector<std::string> names_of(const FunctionKey& key) {
  std::vector<std::string> names;
  for (const NamedFunction& function : key.functions) names.push_back(function.name);
  return names;
}

FunctionName function_named(const FunctionKey& key, const std::string& spelled) {
  const std::vector<std::string> names = names_of(key);
  const auto known = [&](const std::string& word) {
    return std::find_if(names.begin(), names.end(),
                        [&](const std::string& name) { return is_spelling_of(name, word); });
  };
  if (const auto found = known(spelled); found != names.end()) return {*found};
  for (const NamedFunction& function : key.functions)
    if (!function.former.empty() && is_spelling_of(function.former, spelled))
      return {function.name, true};
  // Suggests a function of this name in another module, otherwise the nearest name.
  const auto by_name = known(without_module(spelled));
  const std::string near = by_name != names.end() ? *by_name : nearest(spelled, names);
  fail("no function is called '", spelled, "'; ",
       near.empty() ? "known are " + listed(names) : "did you mean " + near + "?");
}

}  // namespace lockstep
