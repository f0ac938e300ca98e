// SPDX-License-Identifier: Apache-2.0
// Another element type for a whole graph.
#pragma once

#include <optional>

#include "lockstep/model_files.h"

namespace lockstep {

// Returns the literal rounded to float32; a number outside of float32's range becomes the nearest
// in the range. Throws unless it holds floats.
Literal in_float32(const Literal& literal);

// Returns the graph with float32 in place of `type` for inputs, constants and results.
Graph in_float32(const Graph& graph, DType type);

// The type of all floating-point initializers of a network: float64 or bfloat16. Empty if there are
// no such initializers, or also others.
std::optional<DType> only_wide_or_short_type(const LoadedModel& file);

}  // namespace lockstep
