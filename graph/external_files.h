// SPDX-License-Identifier: Apache-2.0
// The files beside a model that hold its large tensors.
#pragma once

#include <string>
#include <vector>

namespace lockstep {

// Returns each path that an ONNX file names once; a path may not exist. Throws as load_model() does
// if `path` is not a model.
std::vector<std::string> external_files(const std::string& path);

}  // namespace lockstep
