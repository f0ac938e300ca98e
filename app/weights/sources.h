// SPDX-License-Identifier: Apache-2.0
// Sources of weights: recognised by the names and the metadata of a file, with the facts that the
// source implies about its network.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "app/weights/rules.h"
#include "runtime/state/safetensors.h"

namespace lockstep {

// A key whose value the source of weights decides.
struct SourceFact {
  std::string key, value;
  std::string applies_to;  // a pattern: the fact counts if a tensor of the network fits
  // A network may start with a larger number than its source: a dilated stage starts from the
  // weights of an undilated one.
  bool may_grow = false;
};

struct WeightsSource {
  std::string name;                           // for people: "torchvision's or timm's ResNet"
  std::string refusal = "";                   // the reason why it cannot be used; "" if it can
  const WeightRules* to_pytorch = nullptr;    // null: names need no change
  const WeightRules* to_detector = nullptr;   // from PyTorch's names; null: names are a detector's
  std::string of_body = "";                   // a pattern of the file's names; "": any names
  std::optional<SourcePicture> picture = {};  // of a classifier
  std::vector<double> pixel_means = {};       // empty: unknown
  std::vector<SourceFact> facts = {};
  double epsilon = 1e-5;  // of batch norms
};

// A file's names with their shapes, and its metadata.
struct WeightsContents {
  std::map<std::string, Dims> tensors;
  std::map<std::string, std::string> metadata;
};
WeightsContents contents_of(const SafetensorsHeader& header);
WeightsContents contents_of(const Safetensors& file);

WeightsSource source_of(const WeightsContents& contents);

// "[103.53, 116.28, 123.675]"
std::string text_of_means(const std::vector<double>& means);

// Keys that checkpoints store because a network's features depend on them.
const std::vector<SourceFact>& facts_in_checkpoints();

}  // namespace lockstep
