// SPDX-License-Identifier: Apache-2.0
#include "lockstep/layers.h"
#include "lockstep/losses.h"
#include "lockstep/models.h"
#include "lockstep/operators.h"
#include "models/image_input.h"

namespace lockstep {

ModelFn vgg16(const ClassifierOptions& options) {
  return [options](Net& net) {
    net.names = kPyTorchNames;
    Value x = image_input(net, options);
    constexpr int64_t kPool = 0;  // entry of the list of widths for a pooling layer
    int number = 0;               // counts convolutions, activations and pools, as torchvision does
    for (int64_t width :
         {64, 64, 0, 128, 128, 0, 256, 256, 256, 0, 512, 512, 512, 0, 512, 512, 512, 0}) {
      if (width == kPool) {
        x = max_pool_layer(net, x, {}, join("features.", number++));
        continue;
      }
      x = conv_layer(net, x, width, {.kernel = 3, .pad = 1}, join("features.", number));
      x = relu(net.graph, x, join("features.", number + 1));
      number += 2;
    }
    const FcLayer small{.weight = gaussian(0.01F)};
    x = relu(net.graph, fc_layer(net, x, 4096, small, "classifier.0"), "classifier.1");
    x = dropout_layer(net, x, 0.5F, "classifier.2");
    x = relu(net.graph, fc_layer(net, x, 4096, small, "classifier.3"), "classifier.4");
    x = dropout_layer(net, x, 0.5F, "classifier.5");
    classify(net, fc_layer(net, x, options.classes, small, "classifier.6"));
  };
}

}  // namespace lockstep
