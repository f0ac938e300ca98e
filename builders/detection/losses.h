// SPDX-License-Identifier: Apache-2.0
// Losses of detectors, element by element, and their sums over sampled elements.
#pragma once

#include <functional>
#include <string>

#include "lockstep/net.h"

namespace lockstep {

// 0.5 d^2 / beta for |d| < beta, else |d| - 0.5 beta, where d = predicted - target.
Value smooth_l1(Graph& graph, Value predicted, Value target, double beta, const Site& site);
// The loss of each logit. Targets are 0 or 1, as floats with the logits' shape.
Value sigmoid_cross_entropy(Graph& graph, Value logits, Value targets, const Site& site);

// The sum of x * mask. The mask has values 0 and 1 and broadcasts to x.
Value masked_sum(Graph& graph, Value x, Value mask, const Site& site);
// x / max(count, 1). x and count are scalars or have equal shapes.
Value per_count(Graph& graph, Value x, Value count, const Site& site);
// 1 where a label equals `value`, else 0, as floats.
Value is_label(Graph& graph, Value labels, int64_t value, const Site& site);
// 1 where a label is an object's class, 0 for background (0) and empty slots (-1), as floats.
Value is_object(Graph& graph, Value labels, const Site& site);

// The fraction of rows of scores [N, classes] that have their largest score at the label. Rows with
// label -1 are not counted.
Value label_accuracy(Graph& graph, Value scores, Value labels, const Site& site);

// Adds the loss that `loss_named` makes, a sum divided by max(count, 1). If `shared`, the step
// divides by the count of all replicas instead.
void add_loss_over(Net& net, const std::string& name, Value count, bool shared,
                   const std::function<Value(const std::string& name)>& loss_named);

}  // namespace lockstep
