// SPDX-License-Identifier: Apache-2.0
#include "models/detection/vgg_body.h"

#include <algorithm>

#include "lockstep/operators.h"

namespace lockstep {
namespace {

constexpr int64_t kStrideOfVgg = 16;
// TRAIN.FREEZE_AT by default. Detectron does not read this key for a VGG.
constexpr int64_t kUsualFreezeAt = 2;

// A convolution and its ReLU, which takes over the convolution's name.
Value conv_relu(Net& net, Value x, int64_t channels, ConvLayer conv, const std::string& name) {
  conv.weight = xavier();
  return relu_in_place(net, conv_layer(net, x, channels, conv, name), name);
}

// Normalisation over neighbouring channels, with the published constants.
Value over_channels(Net& net, Value x, const std::string& name) {
  return net.graph.add_value(
      {.type = "LRN",
       .inputs = {x},
       .attributes = {{"size", int64_t{5}}, {"alpha", 0.0005F}, {"beta", 0.75F}, {"bias", 2.0F}}},
      name);
}

class FreezingStages {
 public:
  // `usual` is the last stage that is fixed at the default of TRAIN.FREEZE_AT.
  FreezingStages(Net& net, const DetectionTrainOptions& train, int64_t usual)
      : net_(net),
        all_(train.freeze_conv_body),
        last_(train.freeze_at == kUsualFreezeAt ? usual : train.freeze_at) {}

  void begin(int64_t stage) { net_.fixed = all_ || stage <= last_; }

 private:
  Net& net_;
  bool all_;
  int64_t last_;
};

}  // namespace

int64_t vgg_width(const DetectorOptions& options, int64_t published) {
  return std::max<int64_t>(1, published / options.vgg.channel_divisor);
}

std::vector<Feature> vgg16_body(Net& net, const DetectorOptions& options, const ResidualBody&,
                                Value data) {
  struct Stage {
    int64_t convolutions, channels;
  };
  constexpr Stage kStages[] = {{2, 64}, {2, 128}, {3, 256}, {3, 512}, {3, 512}};
  net.names = kCaffe2Names;
  FreezingStages freezing(net, options.train, 2);
  Feature last{data, 3, 1, "data"};
  int64_t number = 0;
  for (const Stage& stage : kStages) {
    if (number > 0) {
      last.x = max_pool_layer(net, last.x, {.kernel = 2, .stride = 2}, join("pool", number));
      last.stride *= 2;
    }
    freezing.begin(++number);
    last.channels = vgg_width(options, stage.channels);
    for (int64_t i = 1; i <= stage.convolutions; ++i) {
      last.name = join("conv", number, "_", i);
      last.x = conv_relu(net, last.x, last.channels, {.kernel = 3, .pad = 1}, last.name);
    }
  }
  return {last};
}

std::vector<Feature> vgg_m_body(Net& net, const DetectorOptions& options, const ResidualBody&,
                                Value data) {
  constexpr int64_t kSmallestSide = 43;  // for one cell after the second pooling
  const Shape& shape = net.graph.shape(data);
  for (const std::size_t axis : {2, 3})
    check(shape[axis].size() >= kSmallestSide, "MODEL.CONV_BODY: ", options.model.conv_body,
          " needs pictures of at least ", kSmallestSide, " x ", kSmallestSide, " pixels, not ",
          shape[2].size(), " x ", shape[3].size());
  net.names = kCaffe2Names;
  FreezingStages freezing(net, options.train, 1);
  const auto normed_and_pooled = [&](Value x, int64_t stage) {
    x = over_channels(net, x, join("norm", stage));
    return max_pool_layer(net, x, {.kernel = 3, .stride = 2}, join("pool", stage));
  };
  freezing.begin(1);
  Value x = conv_relu(net, data, vgg_width(options, 96), {.kernel = 7, .stride = 2}, "conv1");
  x = normed_and_pooled(x, 1);
  freezing.begin(2);
  x = conv_relu(net, x, vgg_width(options, 256), {.kernel = 5, .stride = 2}, "conv2");
  x = normed_and_pooled(x, 2);
  const int64_t channels = vgg_width(options, 512);
  for (int64_t stage = 3; stage <= 5; ++stage) {
    freezing.begin(stage);
    x = conv_relu(net, x, channels, {.kernel = 3, .pad = 1}, join("conv", stage));
  }
  return {{x, channels, kStrideOfVgg, "conv5"}};
}

}  // namespace lockstep
