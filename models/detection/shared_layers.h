// SPDX-License-Identifier: Apache-2.0
// Layers that several places of a network use with the same parameters, such as the levels of a
// pyramid. The first use of a layer creates its parameters under its own name, and the other uses
// read them.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "lockstep/layers.h"

namespace lockstep {

class SharedLayers {
 public:
  explicit SharedLayers(Net& net) : net_(net) {}

  struct Name {
    std::string layer;  // equal in all uses
    Site value;         // of this use's result; the first use's name begins the parameters' names
  };
  Value conv(Value x, int64_t channels, const ConvLayer& layer, const Name& name);
  Value affine_channel(Value x, const Name& name);
  Value group_norm(Value x, const GroupNormAttrs& attrs, const Name& name);

 private:
  using Parameters = std::vector<Value>;  // in the order of their declaration
  Value used(const Name& name, const std::function<Value()>& first,
             const std::function<Value(const Parameters&)>& again);

  Net& net_;
  std::map<std::string, Parameters> made_;  // by layer
};

}  // namespace lockstep
