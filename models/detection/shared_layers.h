// SPDX-License-Identifier: Apache-2.0
// Layers that the levels of a pyramid share: the first level makes the parameters, under its own
// name, and the others read them.
#pragma once

#include <map>
#include <string>

#include "builders/net/layers.h"
#include "models/detection/resnet_body.h"

namespace lockstep {

class SharedConvs {
 public:
  explicit SharedConvs(Net& net) : net_(net) {}

  // The convolution `name` on the level with that suffix.
  Value conv(Value x, const std::string& name, const std::string& suffix, int64_t channels,
             const ConvLayer& layer);

 private:
  struct Made {
    Value weight, bias;
  };
  Net& net_;
  std::map<std::string, Made> made_;
};

}  // namespace lockstep
