// SPDX-License-Identifier: Apache-2.0
// Softmax, its logarithm, and the cross-entropy loss.
#pragma once

#include <string>
#include <vector>

#include "lockstep/graph.h"
#include "lockstep/kernel.h"
#include "lockstep/op.h"
#include "lockstep/operators.h"

namespace lockstep {

CrossEntropyAttrs read_cross_entropy(AttributeReader attributes);

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
