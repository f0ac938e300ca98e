// SPDX-License-Identifier: Apache-2.0
// Tensors by name in a folder: NAME.npy, or NAME.pb in ONNX's format; a / in a name is %2F. A
// graph's inputs may also be called input_0.pb, input_1.pb, ... by position.
#pragma once

#include <map>
#include <string>

#include "lockstep/attributes.h"
#include "lockstep/graph.h"

namespace lockstep {

// Reads every input of `graph`. Throws naming tensors that are missing, unused or of another type.
// An input in `declared` has that type in its file; if the graph's is float32, the values are
// rounded.
std::map<std::string, Literal> read_inputs(const Graph& graph, const std::string& folder,
                                           const std::map<std::string, TensorType>& declared = {});

// The name of the file in `folder` that holds the input; "" if there is none.
std::string file_of_input(const Graph& graph, Value input, const std::string& folder);
// Reads one input from its file, as read_inputs() does.
Literal read_input(const Graph& graph, Value input, const std::string& path,
                   const std::map<std::string, TensorType>& declared = {});

// True if a tensor of these dimensions has the declared shape.
bool dims_fit_type(const Dims& dims, const TensorType& declared);

// Writes NAME.npy, making the folder if needed.
void write_tensor(const std::string& folder, const std::string& name, const Literal& value);

}  // namespace lockstep
