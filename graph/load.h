// SPDX-License-Identifier: Apache-2.0
// Loading with a folder for the conditions of control flow, and with inputs as constants.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph/passes/fold.h"
#include "lockstep/model_files.h"

namespace lockstep {

// As load_model() of model_files.h. An If becomes the branch that its condition chooses, and loops
// are unrolled: conditions and trip counts should follow from constants and shapes, computed by
// `folder`. If it is empty, only constants and sizes are known.
// Inputs named in `constants` become constants.
LoadedModel load_model(const OpSet& ops, const std::string& path, const Folder& folder,
                       const std::map<std::string, Literal>& constants = {});

// The names of the inputs of a file's network, in order.
std::vector<std::string> input_names(const std::string& path);

}  // namespace lockstep
