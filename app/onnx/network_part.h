// SPDX-License-Identifier: Apache-2.0
// The part of a network that some of its values need.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lockstep/model_files.h"

namespace lockstep {

// The network with `outputs`, any of its values, as its outputs: only the inputs and nodes that
// they need. Throws for an unknown name, with the nearest name.
std::shared_ptr<const LoadedModel> part_of(const LoadedModel& file,
                                           const std::vector<std::string>& outputs);

// The inputs of the network, without inputs that have a value in the file.
std::vector<Value> fed_inputs(const Graph& graph);

}  // namespace lockstep
