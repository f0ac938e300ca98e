// SPDX-License-Identifier: Apache-2.0
// Another element type for a whole graph.
#pragma once

#include <vector>

#include "lockstep/model_files.h"

namespace lockstep {

// Returns the literal rounded to float32; a number outside of float32's range becomes the nearest
// in the range. Throws unless it holds floats.
Literal in_float32(const Literal& literal);

// Returns the graph with float32 in place of `types` for inputs, constants and results.
Graph in_float32(const Graph& graph, const std::vector<DType>& types);

// The types of a network that are read as float32, in which parameters are trained.
struct OtherFloats {
  std::vector<DType> types;
  bool partly = false;  // there are initializers of float32, too
};

// 16-bit floats if an initializer has them, and float64 if no initializer is of float32. A float64
// number beside parameters of float32 is one of the code's exact constants.
OtherFloats floats_to_widen(const LoadedModel& file);

}  // namespace lockstep
