// An ONNX file that a user brings: a network, perhaps with its loss.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "graph/io.h"

namespace lockstep {

// To be trained. Throws when the file holds a training step instead; warns, once for each file,
// when its exporter took away what should train.
LoadedModel load_network(const std::string& path);

// The network for inputs of these types (the others are as declared), made simple: what follows
// from constants and shapes is constant, but for what depends on float initializers, which may
// become parameters.
std::shared_ptr<const LoadedModel> specialised(LoadedModel file,
                                               const std::map<std::string, TensorType>& types);

}  // namespace lockstep
