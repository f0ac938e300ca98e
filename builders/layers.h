// Layers: an operator and its parameters.
#pragma once

#include <vector>

#include "builders/net.h"

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
// Square kernel over [N, C, H, W]; parameters <name>_w, <name>_b.
Value conv_layer(Net& net, Value x, int64_t channels, const ConvLayer& options, const Site& site);

struct FcLayer {
  bool bias = true;
  Initializer weight = xavier();
};
// Flattens to [N, features]; parameters <name>_w [outputs, features], <name>_b.
Value fc_layer(Net& net, Value x, int64_t outputs, const FcLayer& options, const Site& site);

Value max_pool_layer(Net& net, Value x, int64_t kernel, int64_t stride, const Site& site);

}  // namespace lockstep
