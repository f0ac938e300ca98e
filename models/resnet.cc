// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "lockstep/layers.h"
#include "lockstep/losses.h"
#include "lockstep/models.h"
#include "lockstep/operators.h"
#include "models/image_input.h"

namespace lockstep {
namespace {

struct Variant {
  std::array<int64_t, 4> blocks;  // number of blocks in each stage
  bool bottleneck = true;
  int64_t groups = 1;
  int64_t group_width = 64;  // channels of the 3x3 convolutions in stage 1, per group
};

class ResNet {
 public:
  ResNet(Net& net, const Variant& variant, const ClassifierOptions& options)
      : net_(net), variant_(variant), options_(options) {
    net_.names = kPyTorchNames;
  }

  void build() {
    Value x = image_input(net_, options_);
    x = conv_bn(x, 64, {.kernel = 7, .stride = 2, .pad = 3}, "conv1", "bn1");
    x = relu(net_.graph, x, "relu");
    x = max_pool_layer(net_, x, {.kernel = 3, .stride = 2, .pad = 1}, "maxpool");
    int64_t width = 64;
    for (std::size_t stage = 0; stage < variant_.blocks.size(); ++stage, width *= 2)
      for (int64_t i = 0; i < variant_.blocks[stage]; ++i)
        x = block(x, width, stage > 0 && i == 0 ? 2 : 1, join("layer", stage + 1, ".", i));
    x = global_average_pool(net_.graph, x, "avgpool");
    classify(net_, fc_layer(net_, x, options_.classes, {}, "fc"));
  }

 private:
  Value conv_bn(Value x, int64_t channels, ConvLayer conv, const std::string& conv_name,
                const std::string& bn_name, float scale = 1) {
    conv.bias = false;
    x = conv_layer(net_, x, channels, conv, conv_name);
    return batch_norm_layer(net_, x, {.scale = scale}, bn_name);
  }

  // The last normalisation's initial scale: with 0 the block starts as the identity.
  float last_scale() const { return options_.zero_init_gamma ? 0 : 1; }

  Value block(Value x, int64_t width, int64_t stride, const std::string& name) {
    const int64_t channels = variant_.bottleneck ? 4 * width : width;
    Value y =
        variant_.bottleneck ? bottleneck(x, width, stride, name) : basic(x, width, stride, name);
    if (stride != 1 || !(net_.graph.shape(x)[1] == Dim(channels)))
      x = conv_bn(x, channels, {.kernel = 1, .stride = stride}, name + ".downsample.0",
                  name + ".downsample.1");
    return relu(net_.graph, add(net_.graph, y, x, name + ".add"), name + ".relu");
  }

  Value basic(Value x, int64_t width, int64_t stride, const std::string& name) {
    x = conv_bn(x, width, {.kernel = 3, .stride = stride, .pad = 1}, name + ".conv1",
                name + ".bn1");
    x = relu(net_.graph, x, name + ".relu1");
    return conv_bn(x, width, {.kernel = 3, .pad = 1}, name + ".conv2", name + ".bn2", last_scale());
  }

  Value bottleneck(Value x, int64_t width, int64_t stride, const std::string& name) {
    const int64_t inner = width * variant_.group_width / 64 * variant_.groups;
    const int64_t first = options_.stride_in_1x1 ? stride : 1;
    x = conv_bn(x, inner, {.kernel = 1, .stride = first}, name + ".conv1", name + ".bn1");
    x = relu(net_.graph, x, name + ".relu1");
    x = conv_bn(x, inner,
                {.kernel = 3, .stride = stride / first, .pad = 1, .group = variant_.groups},
                name + ".conv2", name + ".bn2");
    x = relu(net_.graph, x, name + ".relu2");
    return conv_bn(x, 4 * width, {.kernel = 1}, name + ".conv3", name + ".bn3", last_scale());
  }

  Net& net_;
  const Variant& variant_;
  const ClassifierOptions& options_;
};

ModelFn resnet(const Variant& variant, const ClassifierOptions& options) {
  return [=](Net& net) { ResNet(net, variant, options).build(); };
}

}  // namespace

ModelFn resnet18(const ClassifierOptions& options) {
  return resnet({.blocks = {2, 2, 2, 2}, .bottleneck = false}, options);
}
ModelFn resnet34(const ClassifierOptions& options) {
  return resnet({.blocks = {3, 4, 6, 3}, .bottleneck = false}, options);
}
ModelFn resnet50(const ClassifierOptions& options) {
  return resnet({.blocks = {3, 4, 6, 3}}, options);
}
ModelFn resnet101(const ClassifierOptions& options) {
  return resnet({.blocks = {3, 4, 23, 3}}, options);
}
ModelFn resnet152(const ClassifierOptions& options) {
  return resnet({.blocks = {3, 8, 36, 3}}, options);
}
ModelFn resnext50_32x4d(const ClassifierOptions& options) {
  return resnet({.blocks = {3, 4, 6, 3}, .groups = 32, .group_width = 4}, options);
}

}  // namespace lockstep
