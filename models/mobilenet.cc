// SPDX-License-Identifier: Apache-2.0
#include "lockstep/layers.h"
#include "lockstep/losses.h"
#include "lockstep/models.h"
#include "lockstep/operators.h"
#include "models/image_input.h"

namespace lockstep {
namespace {

class MobileNetV2 {
 public:
  explicit MobileNetV2(Net& net) : net_(net) { net_.names = kPyTorchNames; }

  void build(const ClassifierOptions& options) {
    struct Stage {
      int64_t expansion, channels, blocks, stride;
    };
    Value x = image_input(net_, options);
    x = conv_bn_relu6(x, 32, {.kernel = 3, .stride = 2, .pad = 1}, "features.0");
    int number = 1;
    for (const Stage& stage : std::initializer_list<Stage>{{1, 16, 1, 1},
                                                           {6, 24, 2, 2},
                                                           {6, 32, 3, 2},
                                                           {6, 64, 4, 2},
                                                           {6, 96, 3, 1},
                                                           {6, 160, 3, 2},
                                                           {6, 320, 1, 1}})
      for (int64_t i = 0; i < stage.blocks; ++i)
        x = block(x, stage.expansion, stage.channels, i == 0 ? stage.stride : 1,
                  join("features.", number++));
    x = conv_bn_relu6(x, 1280, {.kernel = 1}, join("features.", number));
    x = global_average_pool(net_.graph, x, "pool");
    x = dropout_layer(net_, x, 0.2F, "classifier.0");
    classify(net_, fc_layer(net_, x, options.classes, {.weight = gaussian(0.01F)}, "classifier.1"));
  }

 private:
  // <name>.<first>: the convolution; <name>.<first + 1>: the normalisation.
  Value conv_bn(Value x, int64_t channels, ConvLayer conv, const std::string& name, int first) {
    conv.bias = false;
    x = conv_layer(net_, x, channels, conv, join(name, ".", first));
    return batch_norm_layer(net_, x, {}, join(name, ".", first + 1));
  }

  Value conv_bn_relu6(Value x, int64_t channels, const ConvLayer& conv, const std::string& name) {
    return clip(net_.graph, conv_bn(x, channels, conv, name, 0), 0, 6, name + ".2");
  }

  // Widens, filters each channel separately, narrows, and adds the input if shapes allow.
  Value block(Value x, int64_t expansion, int64_t channels, int64_t stride,
              const std::string& name) {
    const int64_t in = net_.graph.shape(x)[1].size(), wide = in * expansion;
    int part = 0;
    Value y = x;
    if (expansion != 1) y = conv_bn_relu6(y, wide, {.kernel = 1}, join(name, ".conv.", part++));
    y = conv_bn_relu6(y, wide, {.kernel = 3, .stride = stride, .pad = 1, .group = wide},
                      join(name, ".conv.", part++));
    y = conv_bn(y, channels, {.kernel = 1}, name + ".conv", part);
    return stride == 1 && in == channels ? add(net_.graph, x, y, name + ".add") : y;
  }

  Net& net_;
};

}  // namespace

ModelFn mobilenet_v2(const ClassifierOptions& options) {
  return [options](Net& net) { MobileNetV2(net).build(options); };
}

}  // namespace lockstep
