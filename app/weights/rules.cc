// SPDX-License-Identifier: Apache-2.0
#include "app/weights/rules.h"

#include <map>

#include "app/weights/folding.h"
#include "app/weights/pattern.h"

namespace lockstep {
namespace {

constexpr RuleFor kBatch = RuleFor::batch_norm, kGroup = RuleFor::group_norm;

// The text of one {..} of a replacement.
std::string text_of_group(const std::string& group, const std::string& how) {
  if (how == "+1") return std::to_string(std::stoi(group) + 1);
  if (how == ":abc") return std::string(1, static_cast<char>('a' + std::stoi(group) - 1));
  if (how == ":wb") return group == "weight" ? "w" : "b";
  check(how.empty(), "internal: a rule of weights has {", how, "}");
  return group;
}

std::string filled(const std::string& replacement, const std::smatch& match) {
  std::string text;
  for (std::size_t at = 0; at < replacement.size();) {
    if (replacement[at] != '{') {
      text += replacement[at++];
      continue;
    }
    const std::size_t end = replacement.find('}', at);
    const std::size_t group = static_cast<std::size_t>(replacement[at + 1] - '0');
    text += text_of_group(match[group].str(), replacement.substr(at + 2, end - at - 2));
    at = end + 1;
  }
  return text;
}

// The compiled patterns of a table; compiling takes longer than matching.
const std::vector<std::regex>& patterns_of(const WeightRules& rules) {
  thread_local std::map<const WeightRules*, std::vector<std::regex>> tables;
  std::vector<std::regex>& patterns = tables[&rules];
  if (patterns.empty())
    for (const WeightRule& rule : rules) patterns.emplace_back(rule.pattern);
  return patterns;
}

}  // namespace

const WeightRules& rules_of_resnets() {
  static const WeightRules rules{
      {R"(conv1\.weight)", "conv1_w", with_detectors_pictures},
      {R"(bn1\.weight)", "res_conv1_bn_s", folded_scale, kBatch},
      {R"(bn1\.bias)", "res_conv1_bn_b", folded_bias, kBatch},
      {R"(bn1\.weight)", "conv1_gn_s", nullptr, kGroup},
      {R"(bn1\.bias)", "conv1_gn_b", nullptr, kGroup},
      {R"(layer([1-4])\.(\d+)\.conv([1-3])\.weight)", "res{1+1}_{2}_branch2{3:abc}_w"},
      {R"(layer([1-4])\.(\d+)\.bn([1-3])\.weight)", "res{1+1}_{2}_branch2{3:abc}_bn_s",
       folded_scale, kBatch},
      {R"(layer([1-4])\.(\d+)\.bn([1-3])\.bias)", "res{1+1}_{2}_branch2{3:abc}_bn_b", folded_bias,
       kBatch},
      {R"(layer([1-4])\.(\d+)\.bn([1-3])\.weight)", "res{1+1}_{2}_branch2{3:abc}_gn_s", nullptr,
       kGroup},
      {R"(layer([1-4])\.(\d+)\.bn([1-3])\.bias)", "res{1+1}_{2}_branch2{3:abc}_gn_b", nullptr,
       kGroup},
      {R"(layer([1-4])\.(\d+)\.downsample\.0\.weight)", "res{1+1}_{2}_branch1_w"},
      {R"(layer([1-4])\.(\d+)\.downsample\.1\.weight)", "res{1+1}_{2}_branch1_bn_s", folded_scale,
       kBatch},
      {R"(layer([1-4])\.(\d+)\.downsample\.1\.bias)", "res{1+1}_{2}_branch1_bn_b", folded_bias,
       kBatch},
      {R"(layer([1-4])\.(\d+)\.downsample\.1\.weight)", "res{1+1}_{2}_branch1_gn_s", nullptr,
       kGroup},
      {R"(layer([1-4])\.(\d+)\.downsample\.1\.bias)", "res{1+1}_{2}_branch1_gn_b", nullptr,
       kGroup}};
  return rules;
}

const WeightRules& rules_of_vgg16() {
  static const WeightRules rules{{R"(features\.0\.weight)", "conv1_1_w", with_detectors_pictures},
                                 {R"(features\.0\.bias)", "conv1_1_b"},
                                 {R"(features\.2\.(weight|bias))", "conv1_2_{1:wb}"},
                                 {R"(features\.5\.(weight|bias))", "conv2_1_{1:wb}"},
                                 {R"(features\.7\.(weight|bias))", "conv2_2_{1:wb}"},
                                 {R"(features\.10\.(weight|bias))", "conv3_1_{1:wb}"},
                                 {R"(features\.12\.(weight|bias))", "conv3_2_{1:wb}"},
                                 {R"(features\.14\.(weight|bias))", "conv3_3_{1:wb}"},
                                 {R"(features\.17\.(weight|bias))", "conv4_1_{1:wb}"},
                                 {R"(features\.19\.(weight|bias))", "conv4_2_{1:wb}"},
                                 {R"(features\.21\.(weight|bias))", "conv4_3_{1:wb}"},
                                 {R"(features\.24\.(weight|bias))", "conv5_1_{1:wb}"},
                                 {R"(features\.26\.(weight|bias))", "conv5_2_{1:wb}"},
                                 {R"(features\.28\.(weight|bias))", "conv5_3_{1:wb}"},
                                 {R"(classifier\.0\.(weight|bias))", "fc6_{1:wb}"},
                                 {R"(classifier\.3\.(weight|bias))", "fc7_{1:wb}"}};
  return rules;
}

const WeightRules& rules_of_hugging_face() {
  static const WeightRules rules{
      {R"((?:resnet\.)?embedder\.embedder\.convolution\.weight)", "conv1.weight"},
      {R"((?:resnet\.)?embedder\.embedder\.normalization\.(\w+))", "bn1.{1}"},
      {R"((?:resnet\.)?encoder\.stages\.(\d)\.layers\.(\d+)\.layer\.(\d)\.convolution\.weight)",
       "layer{1+1}.{2}.conv{3+1}.weight"},
      {R"((?:resnet\.)?encoder\.stages\.(\d)\.layers\.(\d+)\.layer\.(\d)\.normalization\.(\w+))",
       "layer{1+1}.{2}.bn{3+1}.{4}"},
      {R"((?:resnet\.)?encoder\.stages\.(\d)\.layers\.(\d+)\.shortcut\.convolution\.weight)",
       "layer{1+1}.{2}.downsample.0.weight"},
      {R"((?:resnet\.)?encoder\.stages\.(\d)\.layers\.(\d+)\.shortcut\.normalization\.(\w+))",
       "layer{1+1}.{2}.downsample.1.{3}"},
      {R"(classifier\.1\.(weight|bias))", "fc.{1}"}};
  return rules;
}

RuledName ruled_name(const WeightRules& rules, const std::string& name, RuleFor norm) {
  const std::vector<std::regex>& patterns = patterns_of(rules);
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const WeightRule& rule = rules[i];
    if (rule.norm != RuleFor::any && rule.norm != norm) continue;
    std::smatch match;
    if (fits_pattern(name, match, patterns[i])) return {&rule, filled(rule.replacement, match)};
  }
  return {};
}

}  // namespace lockstep
