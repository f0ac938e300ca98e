// SPDX-License-Identifier: Apache-2.0
#include "models/detection/shared_layers.h"

#include "builders/net/conv_attrs.h"
#include "operators/conv/conv.h"

namespace lockstep {

Value SharedConvs::conv(Value x, const std::string& name, const std::string& suffix,
                        int64_t channels, const ConvLayer& layer) {
  const std::string full = name + suffix;
  const auto found = made_.find(name);
  if (found == made_.end()) {
    const Value y = conv_layer(net_, x, channels, layer, full);
    const std::span<const Value> operands = net_.graph.producer(y)->inputs();
    made_[name] = {operands[ConvIn::w],
                   operands.size() > ConvIn::bias ? operands[ConvIn::bias] : none};
    return y;
  }
  return lockstep::conv(net_.graph, x, found->second.weight, found->second.bias, conv_attrs(layer),
                        full);
}

}  // namespace lockstep
