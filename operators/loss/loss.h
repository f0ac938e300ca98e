// SPDX-License-Identifier: Apache-2.0
// Softmax, its logarithm, and the cross-entropy loss.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"
#include "graph/op.h"
#include "runtime/kernel/table.h"

namespace lockstep {

struct CrossEntropyAttrs {
  std::string reduction = "mean";  // none, sum, mean (weighted, without ignored labels)
  bool ignores = false;
  int64_t ignore_index = 0;
};
CrossEntropyAttrs read_cross_entropy(AttributeReader attributes);

Value softmax(Graph& graph, Value x, int64_t axis = -1, const Site& site = {});
Value log_softmax(Graph& graph, Value x, int64_t axis = -1, const Site& site = {});
// scores [N, C, d..], labels [N, d..] of integers, weights [C] or none.
Value softmax_cross_entropy(Graph& graph, Value scores, Value labels, Value weights = none,
                            const CrossEntropyAttrs& attrs = {}, const Site& site = {});

struct FocalAttrs {
  int64_t classes = 80;  // without background
  float alpha = 0.25F;
  float gamma = 2;
};
// The focal loss of dense detectors, summed and divided by the larger of `objects` (a scalar float)
// and 1. labels [N, A, H, W] of int64: 0 for background, -1 for ignored anchors.
// logits [N, A * classes, H, W].
Value sigmoid_focal_loss(Graph& graph, Value logits, Value labels, Value objects,
                         const FocalAttrs& attrs, const Site& site = {});
// logits [N, A * (classes + 1), H, W], background first.
Value softmax_focal_loss(Graph& graph, Value logits, Value labels, Value objects,
                         const FocalAttrs& attrs, const Site& site = {});

std::vector<Op> loss_ops();
std::vector<KernelEntry> loss_cpu();
std::vector<KernelEntry> loss_cuda();

}  // namespace lockstep
