// SPDX-License-Identifier: Apache-2.0
// Losses between an output of a network and its target, by name.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lockstep/graph.h"

namespace lockstep {

struct LossOperands {
  Value prediction;
  Value target;
  Value mask = none;  // [N] or [N, places]: elements with 0 do not count
};

struct OutputLossOptions {
  double delta = 1;       // huber: the error where the square ends
  int64_t ignore = -100;  // cross_entropy: the label of places that do not count
  int64_t axis = 0;       // cross_entropy: the axis of the classes; 0: the axis that labels lack
};

// A mean over elements. `count`: a float scalar, the number of elements that count; none: all do.
struct MeanLoss {
  Value mean, count = none;
};

struct OutputLoss {
  std::string name, meaning;
  MeanLoss (*build)(Graph& graph, const LossOperands& operands, const OutputLossOptions& options,
                    const Site& site);
};

const std::vector<OutputLoss>& output_losses();
// Null if there is no loss of this name.
const OutputLoss* find_output_loss(const std::string& name);

}  // namespace lockstep
