// SPDX-License-Identifier: Apache-2.0
// Recurrent networks over sequences: ONNX's RNN, GRU and LSTM.
#pragma once

#include <vector>

#include "lockstep/graph.h"
#include "lockstep/kernel.h"
#include "lockstep/op.h"
#include "operators/rnn/recurrence.h"

namespace lockstep {

// x [steps, batch, inputs], or [batch, steps, inputs] with layout 1. lengths: int32 [batch]. The
// first dimension of the other operands is the direction. Only an LSTM has c and peepholes.
struct RecurrentOperands {
  Value x, w, r, b = none, lengths = none, h = none, c = none, peepholes = none;
};
struct RecurrentResults {
  Value y;              // [steps, directions, batch, hidden], [batch, steps, ..] with layout 1
  Value last_h;         // of each example's last step
  Value last_c = none;  // LSTM
};
// `training` selects the form that keeps the results that its gradient needs. The standard
// operators have a gradient, too, but the gradient computes these results again.
RecurrentResults recurrent(Graph& graph, Cell cell, const RecurrentOperands& operands,
                           const RecurrentAttrs& attrs, bool training, const Site& site = {});

// True for ONNX's recurrent operators, which have a form for training.
bool is_recurrent(const Node& node);
// Adds the form for training of a node of any graph, with `operands`. Its results begin with the
// node's results.
Node train_recurrent(Graph& graph, const Node& node, const std::vector<Value>& operands,
                     const Site& site);

std::vector<Op> rnn_ops();
std::vector<KernelEntry> rnn_cpu();
std::vector<KernelEntry> rnn_cuda();

}  // namespace lockstep
