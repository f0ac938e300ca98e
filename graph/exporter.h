// SPDX-License-Identifier: Apache-2.0
// The part of a file that only its exporter knows: what it dropped from a network that it optimised
// for inference, and which initializers are parameters.
#pragma once

#include <map>
#include <string>

#include "lockstep/model_files.h"

namespace onnx {
class ModelProto;
}

namespace lockstep {

// Returns a text with the lost layers and parameters, and the exporter options that keep them; ""
// if nothing is lost.
std::string lost_to_optimisation(const onnx::ModelProto& proto);

// The kinds of initializers that PyTorch's newer exporter wrote. Leaves out kinds that it does not
// know, and metadata that it cannot read.
std::map<std::string, InitializerKind> kinds_of_initializers(const onnx::ModelProto& proto);

}  // namespace lockstep
