// SPDX-License-Identifier: Apache-2.0
// Layers over sequences: embeddings and recurrent networks.
#pragma once

#include <vector>

#include "builders/net/net.h"
#include "operators/rnn/recurrence.h"

namespace lockstep {

struct EmbeddingLayer {
  Initializer weight = gaussian(1);
};
// Replaces each whole number in 0..count - 1 by its row of a table: [..] becomes [.., width].
Value embedding_layer(Net& net, Value numbers, int64_t count, int64_t width,
                      const EmbeddingLayer& options, const Site& site);

struct RecurrentLayer {
  int64_t layers = 1;          // one on top of the other
  bool bidirectional = false;  // y has both directions' states side by side
  bool batch_first = false;    // x is [batch, steps, inputs], not [steps, batch, inputs]
  bool bias = true;
  // GRU: the reset gate scales the state's product, as in PyTorch; ONNX's default is the state.
  bool linear_before_reset = true;
  // int32 [batch]: the steps of each example. What follows is padding: its y is 0.
  Value lengths = none;
  // The first states of each layer, [directions, batch, hidden], or [batch, directions, hidden]
  // with batch_first; empty: zeros. Only an LSTM has c.
  std::vector<Value> first_h = {}, first_c = {};
  Initializer weight = nullptr;      // null: uniform within +-1 / sqrt(hidden), as PyTorch
  Initializer first_bias = nullptr;  // the same
};
struct RecurrentOutputs {
  Value y;                            // the last layer's, [.., .., directions * hidden]
  std::vector<Value> last_h, last_c;  // of each layer, after each example's last step
};
// Parameters are NAME_w, NAME_r, NAME_b in ONNX's layout; NAME_1_w and so on with several layers.
RecurrentOutputs rnn_layer(Net& net, Value x, int64_t hidden, const RecurrentLayer& options,
                           const Site& site);
RecurrentOutputs gru_layer(Net& net, Value x, int64_t hidden, const RecurrentLayer& options,
                           const Site& site);
RecurrentOutputs lstm_layer(Net& net, Value x, int64_t hidden, const RecurrentLayer& options,
                            const Site& site);

}  // namespace lockstep
