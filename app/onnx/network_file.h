// SPDX-License-Identifier: Apache-2.0
// A user's ONNX file: a network, possibly with its loss.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "lockstep/model_files.h"

namespace lockstep {

// Reads any ONNX file as load_model() does. CPU kernels compute the conditions of control flow.
// Inputs named in `constants` become constants.
LoadedModel read_model(const std::string& path,
                       const std::map<std::string, Literal>& constants = {});

// Loads a network for training. Throws if the file holds a training step instead. Warns, once for
// each file, if its exporter removed parts that training needs, and if the network has parameters
// in float64 or 16-bit floats: it is read as float32, in which parameters are trained (retype.h).
// `declared` receives the inputs' types in the file.
LoadedModel load_network(const std::string& path,
                         std::map<std::string, TensorType>* declared = nullptr);

// Specialises the network to these input types; other inputs keep their declared types. Folds
// constants, except values that depend on float initializers, which may become parameters.
std::shared_ptr<const LoadedModel> specialised(LoadedModel file,
                                               const std::map<std::string, TensorType>& types);

}  // namespace lockstep
