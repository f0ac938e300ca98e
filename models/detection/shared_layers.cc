// SPDX-License-Identifier: Apache-2.0
#include "models/detection/shared_layers.h"

#include "builders/net/conv_attrs.h"
#include "operators/batch_norm/batch_norm.h"
#include "operators/conv/conv.h"
#include "operators/kit/operator_helpers.h"

namespace lockstep {

Value SharedLayers::used(const Name& name, const std::function<Value()>& first,
                         const std::function<Value(const Parameters&)>& again) {
  if (const auto found = made_.find(name.layer); found != made_.end()) return again(found->second);
  const std::size_t before = net_.params().size();
  const Value y = first();
  Parameters& parameters = made_[name.layer];
  for (std::size_t i = before; i < net_.params().size(); ++i)
    parameters.push_back(net_.params()[i].value);
  return y;
}

Value SharedLayers::conv(Value x, int64_t channels, const ConvLayer& layer, const Name& name) {
  return used(
      name, [&] { return conv_layer(net_, x, channels, layer, name.value); },
      [&](const Parameters& made) {
        return lockstep::conv(net_.graph, x, made[0], layer.bias ? made[1] : none,
                              conv_attrs(layer), name.value);
      });
}

Value SharedLayers::affine_channel(Value x, const Name& name) {
  return used(
      name, [&] { return affine_channel_layer(net_, x, name.value); },
      [&](const Parameters& made) {
        const int64_t channels = net_.graph.shape(made[0])[0].size();
        return batch_norm(net_.graph,
                          {x, made[0], made[1], shared_vector(net_.graph, channels, 0),
                           shared_vector(net_.graph, channels, 1)},
                          {.epsilon = 0}, name.value);
      });
}

Value SharedLayers::group_norm(Value x, const GroupNormAttrs& attrs, const Name& name) {
  return used(
      name, [&] { return group_norm_layer(net_, x, attrs, name.value); },
      [&](const Parameters& made) {
        return lockstep::group_norm(net_.graph, x, made[0], made[1], attrs, name.value);
      });
}

}  // namespace lockstep
