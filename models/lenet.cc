// SPDX-License-Identifier: Apache-2.0
#include "lockstep/layers.h"
#include "lockstep/losses.h"
#include "lockstep/models.h"
#include "lockstep/operators.h"
#include "models/image_input.h"

namespace lockstep {

ModelFn lenet(const ClassifierOptions& options) {
  return [options](Net& net) {
    Value x = image_input(net, options);
    x = conv_layer(net, x, 20, {.kernel = 5}, "conv1");
    x = max_pool_layer(net, x, {}, "pool1");
    x = conv_layer(net, x, 50, {.kernel = 5}, "conv2");
    x = max_pool_layer(net, x, {}, "pool2");
    x = fc_layer(net, x, 500, {}, "fc3");
    x = relu(net.graph, x, "relu3");
    x = fc_layer(net, x, options.classes, {}, "pred");
    classify(net, x);
  };
}

}  // namespace lockstep
