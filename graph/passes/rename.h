// SPDX-License-Identifier: Apache-2.0
// Gives the values and nodes of a step other names. Nothing else changes, so every bit of a run
// stays the same. State keeps its own name (State::name), by which checkpoints know it.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "graph/training.h"

namespace lockstep {

struct NewNames {
  std::unordered_map<std::string, std::string> values;  // of the step, by full old names
  std::unordered_map<int, std::string> nodes;           // of the step, by number
  // Inputs and state by their old names: they are declared first, in this order; the others follow
  // in theirs.
  std::vector<std::string> first = {};

  // A value's new name; the old one if it has none.
  const std::string& of(const std::string& old) const {
    const auto found = values.find(old);
    return found == values.end() ? old : found->second;
  }
};

// Throws naming a value or node that the step lacks, or a name that two values would have: of the
// step, or of the prediction, where only states are renamed.
TrainingModel renamed(TrainingModel model, const NewNames& names);

}  // namespace lockstep
