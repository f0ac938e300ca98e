// SPDX-License-Identifier: Apache-2.0
// Losses of detectors, value by value, and their sums over what was sampled.
#pragma once

#include <functional>
#include <string>

#include "builders/net/net.h"

namespace lockstep {

// 0.5 d^2 / beta for |d| < beta, else |d| - 0.5 beta, where d = predicted - target.
Value smooth_l1(Graph& graph, Value predicted, Value target, double beta, const Site& site);
// For targets 0 or 1, as floats of the logits' shape.
Value sigmoid_cross_entropy(Graph& graph, Value logits, Value targets, const Site& site);

// The sum of x, of which a mask of 0 and 1 that broadcasts keeps some.
Value masked_sum(Graph& graph, Value x, Value mask, const Site& site);
// x / max(count, 1), of scalars or equal shapes.
Value per_count(Graph& graph, Value x, Value count, const Site& site);
// Of labels [N]: 1 where a label equals `value`, as floats.
Value is_label(Graph& graph, Value labels, int64_t value, const Site& site);
// 1 where a label is an object's class, not background (0) or an empty place (-1), as floats.
Value is_object(Graph& graph, Value labels, const Site& site);

// The share of rows of scores [N, classes] whose largest score is that of the label; labels of -1
// do not count.
Value label_accuracy(Graph& graph, Value scores, Value labels, const Site& site);

// Adds a loss that `loss_named` divides by max(count, 1); if it is `shared`, by the count of all
// replicas.
void add_loss_over(Net& net, const std::string& name, Value count, bool shared,
                   const std::function<Value(const std::string& name)>& loss_named);

}  // namespace lockstep
