// An ONNX file that a user brings: a network, perhaps with its loss.
#pragma once

#include <memory>
#include <string>

#include "graph/io.h"

namespace lockstep {

// Read and made simple: what follows from constants is constant, but for float initializers, which
// may become parameters. Throws when the file holds a training step instead.
std::shared_ptr<const LoadedModel> load_network(const std::string& path);

}  // namespace lockstep
