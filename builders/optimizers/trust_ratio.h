// SPDX-License-Identifier: Apache-2.0
// The ratio of LARS and LAMB between a parameter's norm and the norm of its step. A norm is a
// property of a whole tensor, so the ratio cannot be part of a rule for one element. Nodes before
// the update compute it: they are visible in the graph, and their sums have the order of ReduceL2,
// so every replica computes the same bits.
#pragma once

#include <string>

#include "lockstep/graph.h"

namespace lockstep {

Value norm_of(Graph& graph, Value tensor, const Site& site);

// numerator / denominator, or 1 where one of the norms `size` and `slope` is 0. Names begin with
// `name`.
struct RatioTerms {
  Value size, slope;
  Value numerator, denominator;
};
Value trust_ratio(Graph& graph, const RatioTerms& terms, const std::string& name);

}  // namespace lockstep
