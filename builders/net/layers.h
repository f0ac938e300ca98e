// Layers: an operator and its parameters.
#pragma once

#include <vector>

#include "builders/net/net.h"

namespace lockstep {

struct ConvLayer {
  int64_t kernel = 3;
  int64_t stride = 1;
  int64_t pad = 0;
  int64_t group = 1;
  int64_t dilation = 1;
  bool bias = true;
  Initializer weight = msra();
};
// Square kernel over [N, C, H, W]. Parameters are called after the layer, see param_names.h.
Value conv_layer(Net& net, Value x, int64_t channels, const ConvLayer& options, const Site& site);

struct FcLayer {
  bool bias = true;
  bool inputs_first = false;
  Initializer weight = xavier();
};
// Flattens to [N, features]; the weight is [outputs, features], or [features, outputs] for a model
// whose published weights lie that way.
Value fc_layer(Net& net, Value x, int64_t outputs, const FcLayer& options, const Site& site);

struct BatchNormLayer {
  float epsilon = 1e-5F;
  float momentum = 0.9F;  // how much of the running statistics a step keeps
  float scale = 1;        // first value; 0 makes a residual block start as the identity
};
// Statistics of the replica's share of the batch while training, the running ones for prediction.
Value batch_norm_layer(Net& net, Value x, const BatchNormLayer& options, const Site& site);

struct PoolLayer {
  int64_t kernel = 2;
  int64_t stride = 2;
  int64_t pad = 0;
};
Value max_pool_layer(Net& net, Value x, const PoolLayer& options, const Site& site);

// Active only while training.
Value dropout_layer(Net& net, Value x, float ratio, const Site& site);

}  // namespace lockstep
