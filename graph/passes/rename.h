// SPDX-License-Identifier: Apache-2.0
// Gives the values and nodes of a step other names. Nothing else changes, so every bit of a run
// stays the same. State keeps its name in checkpoints (State::name).
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "lockstep/training_model.h"

namespace lockstep {

struct NewNames {
  std::unordered_map<std::string, std::string> values;  // of the step, by full old names
  std::unordered_map<int, std::string> nodes;           // of the step, by number
  // Old names of inputs and state that are declared first, in this order. The others follow in
  // their old order.
  std::vector<std::string> first = {};

  // Returns a value's new name, or the old name if there is none.
  const std::string& of(const std::string& old) const {
    const auto found = values.find(old);
    return found == values.end() ? old : found->second;
  }
};

// Throws, naming a value or node that the step lacks, or a name that two values would have in the
// step or in the prediction. In the prediction, only states are renamed.
TrainingModel renamed(TrainingModel model, const NewNames& names);

}  // namespace lockstep
