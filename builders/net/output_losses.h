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
  double delta = 1;              // huber: the error where the square ends
  int64_t ignore = -100;         // the label of places that do not count
  bool ignores_numbers = false;  // also in targets of numbers; cross_entropy always ignores
  int64_t axis = 0;  // cross_entropy: the axis of the classes; 0: the axis that labels lack
};

// A mean over elements. `count`: a float scalar, the number of elements that count; none: all do.
struct MeanLoss {
  Value mean, count = none;
};

struct OutputLoss {
  std::string name, meaning;
  bool of_labels = false;  // the target holds labels of classes
  MeanLoss (*build)(Graph& graph, const LossOperands& operands, const OutputLossOptions& options,
                    const Site& site) = nullptr;
};

// The scores whose Softmax or LogSoftmax is `value`, or `value`: a loss of scores is exact where
// the logarithm of a rounded probability is not.
Value scores_behind(const Graph& graph, Value value);
// The scores whose Sigmoid is `value`, or `value`.
Value logits_behind(const Graph& graph, Value value);

const std::vector<OutputLoss>& output_losses();
// Null if there is no loss of this name.
const OutputLoss* find_output_loss(const std::string& name);

}  // namespace lockstep
