// SPDX-License-Identifier: Apache-2.0
// The training step of a language model's configuration, and the metadata about its text.
#pragma once

#include <map>
#include <string>

#include "app/text/config.h"
#include "lockstep/data_parallel.h"
#include "lockstep/training_model.h"

namespace lockstep {

// Builds the step for the replicas of all processes. With `resident` it takes rows from its
// devices.
TrainingModel build_language_step(const TextConfig& config, int64_t characters, int processes = 1,
                                  const ResidentInputs& resident = {});

// The metadata of the trained network: the bytes of its vocabulary.
std::map<std::string, std::string> text_metadata(const std::string& bytes);
// The vocabulary in a model's metadata, or "". Throws naming `path` if it is damaged.
std::string vocabulary_in(const TrainingModel& model, const std::string& path);

}  // namespace lockstep
