// SPDX-License-Identifier: Apache-2.0
// A model on one page, without its nodes: what a file claims, before anything is planned.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "lockstep/training_model.h"

namespace lockstep {

// Numbers of replicas, nodes and parameters: three lines, and a fourth for a step without updates.
std::string counts_of(const TrainingModel& model);

struct ContentsOptions {
  std::size_t most_states = SIZE_MAX;  // the largest come first if there are more
};
// States with sizes, metadata, inputs, losses, metrics, outputs. Long names are cut.
std::string contents_of(const TrainingModel& model, const ContentsOptions& options = {});

// Counts, contents, and the number of nodes of each operator.
std::string summary_of(const TrainingModel& model);

}  // namespace lockstep
