// SPDX-License-Identifier: Apache-2.0
// Layers: functions that add an operator and its parameters to a network. `site` names the layer
// and its parameters (ParamNames in net.h); layers with parameters throw if the name is empty.
#pragma once

#include <cstdint>
#include <vector>

#include "lockstep/net.h"
#include "lockstep/operators.h"

namespace lockstep {

struct ConvLayer {
  int64_t kernel = 3;
  int64_t stride = 1;
  int64_t pad = 0;    // rows or columns of zeros on each side
  int64_t group = 1;  // groups of channels that are convolved separately
  int64_t dilation = 1;
  bool bias = true;
  Initializer weight = msra();
  Initializer first_bias = constant(0);  // of the bias
};
// Convolves [N, C, H, W] with a square kernel to [N, channels, ..].
Value conv_layer(Net& net, Value x, int64_t channels, const ConvLayer& options, const Site& site);

struct ConvTransposeLayer {
  int64_t kernel = 2;
  int64_t stride = 2;  // the factor by which images are enlarged
  int64_t pad = 0;     // rows or columns removed on each side of the result
  bool bias = true;
  Initializer weight = msra();
  Initializer first_bias = constant(0);  // of the bias
};
// A transposed convolution with a square kernel: enlarges [N, C, H, W] to [N, channels,
// (H - 1) * stride + kernel - 2 * pad, ..]. The weight is [C, channels, kernel, kernel], which
// initializers see as it is, as in Caffe2: the deviation of msra() is sqrt(2 / (C * kernel^2)).
Value conv_transpose_layer(Net& net, Value x, int64_t channels, const ConvTransposeLayer& options,
                           const Site& site);

struct FcLayer {
  bool bias = true;
  bool inputs_first = false;  // the order of the weight's dimensions
  Initializer weight = xavier();
};
// A fully connected layer: flattens x to [N, features] and returns [N, outputs]. The weight is
// [outputs, features], or [features, outputs] with `inputs_first`, for models published in this
// form.
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
// channel. Scale and bias are not trained.
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

// Zeroes a random fraction `ratio` of the elements and scales the others by 1 / (1 - ratio). Active
// in training only.
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
  bool bidirectional = false;  // true: y has the states of both directions, concatenated
  bool batch_first = false;    // true: x is [batch, steps, inputs]; false: [steps, batch, inputs]
  bool bias = true;
  // GRU: true: the reset gate scales the product of state and weights, as in PyTorch. false: the
  // reset gate scales the state, which is ONNX's default.
  bool linear_before_reset = true;
  // int32 [batch]: the steps of each example. Later steps are padding, where y is 0. none: no
  // padding.
  Value lengths = none;
  // The first states of each layer, [directions, batch, hidden], or [batch, directions, hidden]
  // with batch_first; empty: zeros. Only an LSTM has c.
  std::vector<Value> first_h = {}, first_c = {};
  // null: uniform within +-1 / sqrt(hidden), as in PyTorch
  Initializer weight = nullptr, first_bias = nullptr;
};
struct RecurrentOutputs {
  Value y;                            // the last layer's, [.., .., directions * hidden]
  std::vector<Value> last_h, last_c;  // of each layer, after each example's last step
};
// Recurrent layers over a sequence. Parameters are NAME_w, NAME_r, NAME_b in ONNX's layout; with
// several layers NAME_0_w, NAME_1_w and so on.
RecurrentOutputs rnn_layer(Net& net, Value x, int64_t hidden, const RecurrentLayer& options,
                           const Site& site);
RecurrentOutputs gru_layer(Net& net, Value x, int64_t hidden, const RecurrentLayer& options,
                           const Site& site);
RecurrentOutputs lstm_layer(Net& net, Value x, int64_t hidden, const RecurrentLayer& options,
                            const Site& site);

}  // namespace lockstep
