// SPDX-License-Identifier: Apache-2.0
// Blocks create their layers in Keras's order, because Keras orders variables by creation.
#include <array>

#include "lockstep/layers.h"
#include "lockstep/losses.h"
#include "lockstep/models.h"
#include "lockstep/operators.h"
#include "models/image_input.h"

namespace lockstep {
namespace {

constexpr BatchNormLayer kBatchNorm{.epsilon = 1.001e-5F, .momentum = 0.99F};

Value block(Net& net, Value x, int64_t width, int64_t stride, bool projects,
            const std::string& name) {
  auto conv = [&](Value from, int64_t channels, int64_t kernel, int64_t step, int part) {
    return conv_layer(net, from, channels,
                      {.kernel = kernel, .stride = step, .pad = kernel / 2, .weight = glorot()},
                      join(name, "_", part, "_conv"));
  };
  auto normal = [&](Value from, int part) {
    return batch_norm_layer(net, from, kBatchNorm, join(name, "_", part, "_bn"));
  };
  auto active = [&](Value from, int part) {
    return relu(net.graph, from, join(name, "_", part, "_relu"));
  };
  Value y = active(normal(conv(x, width, 1, stride, 1), 1), 1);
  y = active(normal(conv(y, width, 3, 1, 2), 2), 2);
  Value shortcut = projects ? conv(x, 4 * width, 1, stride, 0) : x;
  y = conv(y, 4 * width, 1, 1, 3);
  if (projects) shortcut = normal(shortcut, 0);
  y = normal(y, 3);
  return relu(net.graph, add(net.graph, shortcut, y, name + "_add"), name + "_out");
}

}  // namespace

ModelFn resnet50_keras(const ClassifierOptions& options) {
  return [options](Net& net) {
    net.names = kKerasNames;
    Value x = image_input(net, options);
    x = conv_layer(net, x, 64, {.kernel = 7, .stride = 2, .pad = 3, .weight = glorot()},
                   "conv1_conv");
    x = relu(net.graph, batch_norm_layer(net, x, kBatchNorm, "conv1_bn"), "conv1_relu");
    x = max_pool_layer(net, x, {.kernel = 3, .stride = 2, .pad = 1}, "pool1_pool");
    const std::array<int64_t, 4> blocks{3, 4, 6, 3};
    for (std::size_t stage = 0; stage < blocks.size(); ++stage)
      for (int64_t i = 0; i < blocks[stage]; ++i)
        x = block(net, x, int64_t{64} << stage, stage > 0 && i == 0 ? 2 : 1, i == 0,
                  join("conv", stage + 2, "_block", i + 1));
    x = global_average_pool(net.graph, x, "avg_pool");
    classify(net, fc_layer(net, x, options.classes, {.inputs_first = true, .weight = glorot()},
                           "predictions"));
  };
}

}  // namespace lockstep
