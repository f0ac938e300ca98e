// SPDX-License-Identifier: Apache-2.0
#include "lockstep/layers.h"
#include "lockstep/losses.h"
#include "lockstep/models.h"
#include "lockstep/operators.h"
#include "models/image_input.h"

namespace lockstep {

ModelFn mlp(const ClassifierOptions& options) {
  return [options](Net& net) {
    Value x = image_input(net, options);
    int number = 1;
    for (int64_t width : options.hidden) {
      x = fc_layer(net, x, width, {}, join("fc", number));
      x = relu(net.graph, x, join("relu", number));
      ++number;
    }
    x = fc_layer(net, x, options.classes, {}, "pred");
    classify(net, x);
  };
}

}  // namespace lockstep
