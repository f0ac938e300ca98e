// SPDX-License-Identifier: Apache-2.0
// The nodes of a backward pass that belong to each node of the forward pass.
#pragma once

#include <vector>

#include "graph/phases.h"
#include "lockstep/graph.h"

namespace lockstep {

struct GradientPartners {
  int forward = 0, backward = 0;  // nodes
  friend bool operator==(const GradientPartners&, const GradientPartners&) = default;
};

// Of each node of the backward pass at most one forward node: the one that it shares most values
// and gradients with, among nodes of its replica. Gradients are known by their names
// (graph/gradient.h), so a file whose gradients have other names has fewer partners.
std::vector<GradientPartners> gradient_partners(const Graph& graph,
                                                const std::vector<Phase>& phases);

}  // namespace lockstep
