// SPDX-License-Identifier: Apache-2.0
// Layers: an operator and its parameters.
#pragma once

#include <vector>

#include "builders/net/net.h"
#include "operators/conv/conv.h"
#include "operators/norm/norm.h"

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
ConvAttrs conv_attrs(const ConvLayer& options);
// Square kernel over [N, C, H, W]. Parameters are named after the layer, see param_names.h.
Value conv_layer(Net& net, Value x, int64_t channels, const ConvLayer& options, const Site& site);

struct FcLayer {
  bool bias = true;
  bool inputs_first = false;
  Initializer weight = xavier();
};
// Flattens to [N, features]. The weight is [outputs, features], or [features, outputs] for models
// published with that layout.
Value fc_layer(Net& net, Value x, int64_t outputs, const FcLayer& options, const Site& site);

struct BatchNormLayer {
  float epsilon = 1e-5F;
  float momentum = 0.9F;  // the fraction of the running statistics that a step keeps
  float scale = 1;        // initial value; 0 makes a residual block start as the identity
};
// Normalises by statistics of the replica's share of the batch in training, by running ones in
// prediction.
Value batch_norm_layer(Net& net, Value x, const BatchNormLayer& options, const Site& site);

// Batch normalisation of a trained network with its statistics folded in: y = scale * x + bias by
// channel. Neither is trained.
Value affine_channel_layer(Net& net, Value x, const Site& site);

// Statistics of each example's groups of channels: the same in training and prediction.
Value group_norm_layer(Net& net, Value x, const GroupNormAttrs& attrs, const Site& site);

struct PoolLayer {
  int64_t kernel = 2;
  int64_t stride = 2;
  int64_t pad = 0;
};
Value max_pool_layer(Net& net, Value x, const PoolLayer& options, const Site& site);

// Active in training only.
Value dropout_layer(Net& net, Value x, float ratio, const Site& site);

}  // namespace lockstep
