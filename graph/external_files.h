// SPDX-License-Identifier: Apache-2.0
// The files beside a model that hold its large tensors.
#pragma once

#include <string>
#include <vector>

namespace lockstep {

// The paths that an ONNX file names, each once, whether they exist or not. Throws as load_model()
// does for a file that is no model.
std::vector<std::string> external_files(const std::string& path);

}  // namespace lockstep
