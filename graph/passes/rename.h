// Gives the values and nodes of a step other names. Nothing else changes, so every bit of a run
// stays the same. State keeps its own name (State::name), by which checkpoints know it.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "graph/training.h"

namespace lockstep {

struct NewNames {
  std::unordered_map<std::string, std::string> values;  // of the step, by full names
  std::unordered_map<int, std::string> nodes;           // of the step, by number
  // Inputs and state that are declared first, in this order; the others follow in theirs. Old
  // names.
  std::vector<std::string> first = {};
};

// Throws naming two values that would have the same name, and a name that is not the step's.
TrainingModel renamed(TrainingModel model, const NewNames& names);

}  // namespace lockstep
