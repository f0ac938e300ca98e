// SPDX-License-Identifier: Apache-2.0
// Random weights under the names of published classifiers, for a detector's body.
#pragma once

#include <map>
#include <regex>
#include <string>
#include <vector>

#include "app/weights/match.h"
#include "lockstep/random.h"
#include "runtime/state/safetensors.h"

namespace lockstep::testing {

class RandomTensors {
 public:
  Literal uniform(const Dims& dims, double low, double high) {
    PhiloxSequence random(7, stream_++);
    std::vector<float> values(static_cast<std::size_t>(element_count(dims)));
    for (float& value : values) value = static_cast<float>(low + (high - low) * random.uniform());
    return Literal::of<float>(values, dims);
  }

 private:
  uint64_t stream_ = 0;
};

// PyTorch's name without ".weight" of a convolution of a detector's ResNet, "" for other tensors.
inline std::string pytorch_name(const std::string& name) {
  if (name == "conv1_w") return "conv1";
  std::smatch match;
  if (!std::regex_match(name, match, std::regex(R"(res(\d)_(\d+)_branch(1|2([abc]))_w)")))
    return "";
  const std::string block =
      "layer" + std::to_string(std::stoi(match[1]) - 1) + "." + match[2].str();
  if (match[3] == "1") return block + ".downsample.0";
  return block + ".conv" + std::to_string(match[4].str()[0] - 'a' + 1);
}

// The batch norm behind a convolution.
inline std::string norm_behind(const std::string& convolution) {
  if (convolution.ends_with("downsample.0"))
    return convolution.substr(0, convolution.size() - 1) + "1";
  std::string name = convolution;
  return name.replace(name.rfind("conv"), 4, "bn");
}

// A classifier with torchvision's names for the body of these slots.
inline StateValues pytorch_weights(const std::vector<WeightSlot>& slots) {
  RandomTensors random;
  StateValues all;
  for (const WeightSlot& slot : slots) {
    const std::string name = pytorch_name(slot.name);
    if (name.empty()) continue;
    const Dims dims = to_dims(slot.type.shape);
    all.emplace(name + ".weight", random.uniform(dims, -1, 1));
    const std::string norm = norm_behind(name);
    all.emplace(norm + ".weight", random.uniform({dims[0]}, 0.5, 1.5));
    all.emplace(norm + ".bias", random.uniform({dims[0]}, -1, 1));
    all.emplace(norm + ".running_mean", random.uniform({dims[0]}, -1, 1));
    all.emplace(norm + ".running_var", random.uniform({dims[0]}, 0.5, 2));
    all.emplace(norm + ".num_batches_tracked", Literal::scalar<int64_t>(9));
  }
  return all;
}

inline void write_weights(const std::string& path, const StateValues& values,
                          const std::map<std::string, std::string>& metadata = {}) {
  std::vector<std::pair<std::string, Tensor>> tensors;
  for (const auto& [name, value] : values) tensors.emplace_back(name, view_of(value));
  write_safetensors(path, tensors, metadata);
}

}  // namespace lockstep::testing
