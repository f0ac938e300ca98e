// Layers on data that is not theirs.
#include "builders/net/layers.h"
#include "builders/optimizers/momentum_sgd.h"

#include <gtest/gtest.h>

#include "operators/all.h"
#include "operators/conv/conv.h"
#include "operators/reduce/reduce.h"
#include "tests/support/expect_error.h"
#include "tests/support/networks.h"

namespace lockstep::testing {
namespace {

TEST(Layers, AConvolutionOnTwoDimensionsIsNamed) {
  auto convolve = [](Net& net) {
    const Value x = net.input("data", {DType::float32, {"N", 12}});
    conv_layer(net, x, 8, {.kernel = 3}, "conv1");
  };
  expect_error([&] { build_data_parallel_model(all_ops(), convolve, MomentumSgd{}, {}); },
               "conv1 (", "layers_test.cc:",
               "the data of a convolution is [N,12], should be [batch, "
               "channels, height, width]");
}

TEST(Layers, AConvNodeOnTwoDimensionsIsNamed) {
  Graph graph(all_ops());  // libonnx by itself ends the program here
  const Value x = graph.input("x", {DType::float32, {"N", 12}});
  for (const Dims& dims : {Dims{8, 12}, Dims{8, 12, 3, 3}}) {
    const Value w =
        graph.input("w" + std::to_string(dims.size()), {DType::float32, to_shape(dims)});
    expect_error([&] { conv(graph, x, w, {}, {}, "conv1"); }, "conv1 (Conv",
                 "data is [N,12], should be [batch, channels, one size or more]");
  }
}

Value frozen_network(Net& net, Value x) {
  x = conv_layer(net, x, 4, {.kernel = 3, .bias = false}, "conv1");
  x = affine_channel_layer(net, x, "affine1");
  net.fixed = true;
  x = conv_layer(net, x, 4, {.kernel = 1}, "conv2");
  net.fixed = false;
  x = conv_layer(net, x, 4, {.kernel = 1}, "conv3");
  return group_norm_layer(net, x, {.groups = 2}, "gn3");
}

TEST(Layers, FixedParametersAreNotTrainedButPassGradients) {
  const auto model = build_data_parallel_model(
      all_ops(),
      [](Net& net) {
        const Value x = net.input("data", {DType::float32, {2, 3, 6, 6}});
        net.loss("loss", reduce_mean(net.graph, frozen_network(net, x), {}, false));
      },
      MomentumSgd{}, {.replicas = 2});
  std::vector<std::string> trained;
  for (const Replicated& gradient : model.gradients) trained.push_back(gradient.name);
  EXPECT_EQ(trained, (std::vector<std::string>{"gn3_b", "gn3_s", "conv3_b", "conv3_w", "conv1_w"}));
  EXPECT_NE(model.find_state("affine1_s"), nullptr);
  EXPECT_EQ(model.find_state("affine1_s_momentum"), nullptr);
  // The gradient of a frozen normalisation keeps nothing of the forward pass.
  for (int i = 0; i < model.step.node_count(); ++i)
    EXPECT_NE(model.step.node(i).type(), "BatchNormGrad");
}

TEST(Layers, ChannelsThatGroupsDoNotDivideAreNamed) {
  const auto network = [](Net& net) {
    group_norm_layer(net, net.input("data", {DType::float32, {2, 6, 3, 3}}), {.groups = 4}, "gn1");
  };
  expect_error([&] { build_data_parallel_model(all_ops(), network, MomentumSgd{}, {}); }, "gn1",
               "6 channels do not divide into 4 groups");
}

}  // namespace
}  // namespace lockstep::testing
