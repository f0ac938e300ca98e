// SPDX-License-Identifier: Apache-2.0
// The training step of a language model's configuration, and what its files say of its text.
#pragma once

#include <map>
#include <string>

#include "app/text/config.h"
#include "graph/training.h"

namespace lockstep {

// For all replicas of so many processes.
TrainingModel build_language_step(const TextConfig& config, int64_t characters, int processes = 1);

// The metadata of the trained network; `bytes`: of its vocabulary.
std::map<std::string, std::string> text_metadata(const std::string& bytes);
// The vocabulary of a model with such metadata, or "". Throws naming `path` for a damaged one.
std::string vocabulary_in(const TrainingModel& model, const std::string& path);

}  // namespace lockstep
