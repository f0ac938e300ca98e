// SPDX-License-Identifier: Apache-2.0
// The inputs of a network that a step takes from a batch which stays on the devices.
#pragma once

#include <string>
#include <vector>

#include "builders/resident/load.h"
#include "graph/training.h"

namespace lockstep {

struct ResidentInputs {
  std::vector<std::string> rows = {};    // inputs [N, ..] of a minibatch's rows
  std::vector<std::string> states = {};  // inputs [M, ..] with a row for each sequence of rows
  ResidentLimits limits = {};

  bool any() const { return !rows.empty() || !states.empty(); }
};

// What such a step is fed instead: where its minibatch begins in what a replica holds, and a tensor
// without elements, [N, 0], for its number of rows. The same for rows of states.
struct MinibatchFeeds {
  const char* index;
  const char* size;
};
inline constexpr MinibatchFeeds kMinibatch{"minibatch_index", "minibatch"};
inline constexpr MinibatchFeeds kSequences{"sequence_index", "sequences"};

// The state that holds an input's rows.
std::string resident_state(const std::string& input);

// Throws naming a limit that is not positive, or an input that is listed twice.
void check_resident(const ResidentInputs& resident);

// A model's metadata says what it holds.
void write_resident(const ResidentInputs& resident, TrainingModel& model);
// Throws if it holds nothing, or if its metadata does not fit its states.
ResidentInputs read_resident(const TrainingModel& model);

}  // namespace lockstep
