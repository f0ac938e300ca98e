// SPDX-License-Identifier: Apache-2.0
// Rules that tell constants from parameters where no exporter says which is which.
#pragma once

#include <map>
#include <set>
#include <string>

#include "lockstep/graph.h"

namespace lockstep {

// Names of the class weights of losses.
std::set<std::string> class_weights_of_losses(const Graph& graph);

// Names of the constants that normalise an input.
struct InputNormalisers {
  // All arithmetic that follows an input of bytes; and before a layer a subtraction together with a
  // division, by constants per channel, as in (x - mean) / std.
  std::set<std::string> certain;
  // Other arithmetic by constants per channel at an input. A layer may have learnt these.
  std::set<std::string> possible;
};
InputNormalisers normalisers_of_inputs(const Graph& graph);

// True if a value is infinite: training would move nothing but turn results into NaN.
bool has_infinity(const Literal& literal);
// True for an additive mask (0 and numbers of -100 or less, nothing else) and for a triangular
// mask.
bool is_mask(const Literal& literal);
// True if the name is a running statistic's in PyTorch, outside a BatchNormalization.
bool has_name_of_statistic(const std::string& name);

// Describes the constant that the initializer resembles, although it may have been learnt: "like a
// table of sines". "" if it resembles a parameter.
std::string looks_of(const Graph& graph, const std::string& name);

}  // namespace lockstep
