// SPDX-License-Identifier: Apache-2.0
// Layers: an operator and its parameters.
#pragma once

#include <cstdint>
#include <vector>

#include "lockstep/net.h"
#include "lockstep/operators.h"

namespace lockstep {

struct ConvLayer {
  int64_t kernel = 3;
  int64_t stride = 1;
  int64_t pad = 0;
  int64_t group = 1;
  int64_t dilation = 1;
  bool bias = true;
  Initializer weight = msra();
  Initializer first_bias = constant(0);
};
// Square kernel over [N, C, H, W]. Parameters are named after the layer (ParamNames in net.h).
Value conv_layer(Net& net, Value x, int64_t channels, const ConvLayer& options, const Site& site);

struct FcLayer {
  bool bias = true;
  bool inputs_first = false;
  Initializer weight = xavier();
};
// Flattens to [N, features]. The weight is [outputs, features], or [features, outputs] with
// `inputs_first`, for models published in this form.
Value fc_layer(Net& net, Value x, int64_t outputs, const FcLayer& options, const Site& site);

struct BatchNormLayer {
  float epsilon = 1e-5F;
  float momentum = 0.9F;  // the fraction of the running statistics that a step keeps
  float scale = 1;        // initial value; 0 makes a residual block start as the identity
};
// Normalises by statistics of the replica's share of the batch in training, by running statistics
// in prediction.
Value batch_norm_layer(Net& net, Value x, const BatchNormLayer& options, const Site& site);

// Batch normalisation of a trained network with its statistics folded in: y = scale * x + bias by
// channel. Neither is trained.
Value affine_channel_layer(Net& net, Value x, const Site& site);

// Normalises by statistics of each example's groups of channels, both in training and in
// prediction.
Value group_norm_layer(Net& net, Value x, const GroupNormAttrs& attrs, const Site& site);

struct PoolLayer {
  int64_t kernel = 2;
  int64_t stride = 2;
  int64_t pad = 0;
};
Value max_pool_layer(Net& net, Value x, const PoolLayer& options, const Site& site);

// Active in training only.
Value dropout_layer(Net& net, Value x, float ratio, const Site& site);

// ---- sequences
struct EmbeddingLayer {
  Initializer weight = gaussian(1);
};
// Replaces each whole number in 0..count - 1 by its row of a table: [..] becomes [.., width].
Value embedding_layer(Net& net, Value numbers, int64_t count, int64_t width,
                      const EmbeddingLayer& options, const Site& site);

struct RecurrentLayer {
  int64_t layers = 1;          // stacked
  bool bidirectional = false;  // y has the states of both directions, concatenated
  bool batch_first = false;    // x is [batch, steps, inputs], not [steps, batch, inputs]
  bool bias = true;
  // GRU: the reset gate scales the state's product, as in PyTorch. false: it scales the state, as
  // is ONNX's default.
  bool linear_before_reset = true;
  // int32 [batch]: the steps of each example. Later steps are padding, where y is 0.
  Value lengths = none;
  // The first states of each layer, [directions, batch, hidden], or [batch, directions, hidden]
  // with batch_first; empty: zeros. Only an LSTM has c.
  std::vector<Value> first_h = {}, first_c = {};
  // null: uniform within +-1 / sqrt(hidden), as PyTorch
  Initializer weight = nullptr, first_bias = nullptr;
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
