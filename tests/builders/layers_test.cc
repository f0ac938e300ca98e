// SPDX-License-Identifier: Apache-2.0
// Layers on unsuitable data.
#include <gtest/gtest.h>

#include "lockstep/layers.h"
#include "lockstep/operators.h"
#include "lockstep/optimizers.h"
#include "operators/conv/conv.h"
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
  Graph graph(all_ops());  // libonnx alone would end the program here
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
  // The gradient of a frozen normalisation needs nothing of the forward pass.
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

Shape shape_of_sequence(bool batch_first, bool bidirectional) {
  Graph graph(all_ops());
  Net net(graph, Mode::infer);
  const Value x = net.input("x", {DType::float32, {"N", "T", 7}});
  const RecurrentOutputs made =
      gru_layer(net, x, 5, {.bidirectional = bidirectional, .batch_first = batch_first}, "gru");
  EXPECT_EQ(text_of(graph.shape(made.last_h[0])), batch_first
                                                      ? join("[N,", bidirectional ? 2 : 1, ",5]")
                                                      : join("[", bidirectional ? 2 : 1, ",T,5]"));
  return graph.shape(made.y);
}

TEST(SequenceLayers, DirectionsLieSideBySide) {
  for (bool batch_first : {false, true})
    for (bool bidirectional : {false, true})
      EXPECT_EQ(text_of(shape_of_sequence(batch_first, bidirectional)),
                bidirectional ? "[N,T,10]" : "[N,T,5]");
}

// A step has training forms with the values that gradients need. A prediction has ONNX's operators.
TEST(SequenceLayers, OnlyAStepHasFormsForTraining) {
  const auto network = [](Net& net) {
    const Value words = net.input("words", {DType::int64, {3, 4}});
    const Value x = embedding_layer(net, words, 9, 2, {}, "table");
    const RecurrentOutputs made = lstm_layer(net, x, 5, {.layers = 2}, "lstm");
    if (net.training()) net.loss("loss", reduce_mean(net.graph, made.y, {}, false));
    net.output("y", made.y);
  };
  const auto model = build_data_parallel_model(all_ops(), network, MomentumSgd{}, {});
  std::map<std::string, int> counted;
  for (const Graph* graph : {&model.step, &model.inference})
    for (int i = 0; i < graph->node_count(); ++i) ++counted[graph->node(i).type()];
  EXPECT_EQ(counted["LSTMTrain"], 2);
  EXPECT_EQ(counted["LSTMGrad"], 2);
  EXPECT_EQ(counted["LSTM"], 2);
  for (const char* name : {"table_w", "lstm_0_w", "lstm_1_r", "lstm_1_b"})
    EXPECT_NE(model.find_state(name), nullptr) << name;
}

TEST(SequenceLayers, DataThatIsNotTheirsIsNamed) {
  const auto refused = [](const auto& layer, const Shape& shape, const std::string& why) {
    const auto network = [&](Net& net) { layer(net, net.input("data", {DType::float32, shape})); };
    expect_error([&] { build_data_parallel_model(all_ops(), network, MomentumSgd{}, {}); },
                 "layer1 (", "layers_test.cc:", why);
  };
  const auto lstm = [](RecurrentLayer options) {
    return [=](Net& net, Value x) { lstm_layer(net, x, 4, options, "layer1"); };
  };
  refused(lstm({}), {"N", 12}, "the data of a recurrent layer is [N,12], should be [steps, batch");
  refused(lstm({}), {3, "N", "K"}, "dimension 2 of [3,N,K] must be known");
  refused(lstm({.layers = 0}), {3, "N", 2},
          "0 layers of 4 hidden units: both numbers should be at least 1");
  refused(lstm({.layers = 2, .first_h = {Value{0}}}), {3, "N", 2}, "1 first states for 2 layers");
  refused([](Net& net, Value x) { embedding_layer(net, x, 5, 2, {}, "layer1"); }, {"N"},
          "an embedding looks up whole numbers, int32 or int64, not float32");
}

}  // namespace
}  // namespace lockstep::testing
