// SPDX-License-Identifier: Apache-2.0
// Inputs of a step whose minibatches are slices of a resident batch.
#pragma once

#include <string>

#include "lockstep/data_parallel.h"

namespace lockstep {

// The inputs that replace the rows of a minibatch: its first row in the replica's part of the
// batch, and a tensor without elements, [N, 0], for the number of rows. Rows of states have such
// inputs, too.
struct MinibatchFeeds {
  const char* index;
  const char* size;
};
inline constexpr MinibatchFeeds kMinibatch{"minibatch_index", "minibatch"};
inline constexpr MinibatchFeeds kSequences{"sequence_index", "sequences"};

// The name of the state that holds an input's rows.
std::string resident_state(const std::string& input);

// Throws naming a limit that is not positive, or an input that is listed twice.
void check_resident(const ResidentInputs& resident);

// Writes the resident inputs into the model's metadata.
void write_resident(const ResidentInputs& resident, TrainingModel& model);
// Throws if the model has no resident inputs, or if its metadata does not fit its states.
ResidentInputs read_resident(const TrainingModel& model);

}  // namespace lockstep
