// SPDX-License-Identifier: Apache-2.0
// Loading with knowledge that a file alone does not give. Conditions of control flow may need it.
#pragma once

#include <map>
#include <string>

#include "graph/passes/fold.h"
#include "lockstep/model_files.h"

namespace lockstep {

struct LoadOptions {
  Folder folder = {};                                  // computes nodes with constant operands
  std::map<std::string, TensorType> input_types = {};  // replace the declared types
};
// As load_model() of model_files.h. An If becomes the branch that its condition chooses, and loops
// are unrolled: conditions and trip counts should follow from constants and shapes. Without a
// folder only constants and sizes are known.
LoadedModel load_model(const OpSet& ops, const std::string& path, const LoadOptions& known);

}  // namespace lockstep
