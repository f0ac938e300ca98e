// SPDX-License-Identifier: Apache-2.0
// The decision about the initializers of a network's file, for people.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "builders/net/trained_initializers.h"

namespace lockstep {

// Lines of a run: the number of parameters, the constants with reasons, the initializers that
// cannot be decided, the batch norms that stay fixed, the dropouts that drop nothing.
std::vector<std::string> notes_on(const LoadedModel& file, const InitializerChoices& choices);

// A line for each initializer: name, type and shape, trained or constant, reason.
std::string table_of(const InitializerChoices& choices,
                     const std::map<std::string, TensorType>& types);

// Types by name. Call before specialised(), which drops unused initializers.
std::map<std::string, TensorType> types_of_initializers(const LoadedModel& file);

// The value that a network without a named loss is trained for: its output of floats, if there is
// exactly one; "" otherwise.
std::string only_float_output(const Graph& graph);

}  // namespace lockstep
