// SPDX-License-Identifier: Apache-2.0
// A user's ONNX file: a network, possibly with its loss.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "graph/io.h"

namespace lockstep {

// For training. Throws if the file holds a training step instead; warns, once for each file, if its
// exporter removed parts that should train.
LoadedModel load_network(const std::string& path);

// The network specialised to these input types (other inputs stay as declared): constants are
// folded, except what depends on float initializers, which may become parameters.
std::shared_ptr<const LoadedModel> specialised(LoadedModel file,
                                               const std::map<std::string, TensorType>& types);

}  // namespace lockstep
