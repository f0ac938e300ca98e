// SPDX-License-Identifier: Apache-2.0
// Convolutions shared by the levels of a pyramid. The first level creates the parameters, with its
// own suffix, and the other levels reuse the parameters.
#pragma once

#include <map>
#include <string>

#include "lockstep/layers.h"
#include "models/detection/resnet_body.h"

namespace lockstep {

class SharedConvs {
 public:
  explicit SharedConvs(Net& net) : net_(net) {}

  // The convolution `name` on the level with suffix `suffix`.
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
