// SPDX-License-Identifier: Apache-2.0
// Tables that translate the names of published weights, a row for each kind of tensor.
#pragma once

#include <array>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lockstep/model_files.h"

namespace lockstep {

// The preparation of the pictures that a network was trained on, in the order red, green, blue:
// (value / 255 - mean) / deviation.
struct SourcePicture {
  std::array<double, 3> mean{}, deviation{1, 1, 1};

  // Means of blue, green and red from 0 to 255, as PIXEL_MEANS has them.
  std::vector<double> pixel_means() const { return {255 * mean[2], 255 * mean[1], 255 * mean[0]}; }
};

// A tensor that a rule takes from a file.
struct TakenTensor {
  const StateValues& file;
  const std::string& path;
  const std::string& name;
  const std::optional<SourcePicture>& picture;
  double epsilon;               // of batch norms
  std::set<std::string>& used;  // names of the file's tensors
};
using WeightChange = Literal (*)(const TakenTensor& tensor);

// Kinds of normalisation that a rule is for. A batch norm has running statistics.
enum class RuleFor { any, batch_norm, group_norm };

struct WeightRule {
  const char* pattern;  // of the whole name
  // {1} is the pattern's first group, {1+1} the next number, {1:abc} a for 1, b for 2, .., {1:wb} w
  // for weight and b for bias.
  const char* replacement;
  WeightChange change = nullptr;  // null: the tensor stays as it is
  RuleFor norm = RuleFor::any;
};
using WeightRules = std::vector<WeightRule>;

const WeightRules& rules_of_resnets();       // PyTorch's names to a detector's
const WeightRules& rules_of_vgg16();         // PyTorch's names to a detector's
const WeightRules& rules_of_hugging_face();  // to PyTorch's names

// The first rule that fits `name`, and the name that it gives; no rule: null.
struct RuledName {
  const WeightRule* rule = nullptr;
  std::string name;
};
RuledName ruled_name(const WeightRules& rules, const std::string& name, RuleFor norm);

}  // namespace lockstep
