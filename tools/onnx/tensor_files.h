// Tensors by name in a folder: NAME.npy, or NAME.pb as ONNX stores them; a / in a name is %2F. The
// inputs of a graph may also be called input_0.pb, input_1.pb, ... by position.
#pragma once

#include <map>
#include <string>

#include "graph/graph.h"
#include "graph/literal.h"

namespace lockstep {

// Every input of `graph`. Throws naming what is missing, has another type, or is there too much.
std::map<std::string, Literal> read_inputs(const Graph& graph, const std::string& folder);

// The folder, made if need be, as NAME.npy.
void write_tensor(const std::string& folder, const std::string& name, const Literal& value);

}  // namespace lockstep
