// SPDX-License-Identifier: Apache-2.0
// The results of steps: losses, gradients and new values, in memory and in files.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "app/step/config.h"
#include "lockstep/model_files.h"
#include "lockstep/session.h"

namespace lockstep {

// True for states whose values are results: parts of the network, and averages of parameters.
bool is_result(StateKind kind);

// The initializers that get a new value, and its shape.
std::map<std::string, Dims> renewed_initializers(const Session& session);
// The new values of the network's initializers, by name: replica 0's statistics, and averages in
// place of parameters if `averages`.
StateValues new_values(const Session& session, bool averages);

// Writes the losses as one file, NAME_grad of each trained parameter and NAME of each result.
// `gradients` are in the order of the model. A single loss is a scalar, several are a vector.
void write_step_results(const std::string& folder, const std::string& loss,
                        const std::vector<float>& losses, std::span<const Tensor> gradients,
                        const Session& session);

}  // namespace lockstep
