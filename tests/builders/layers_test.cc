// Layers on data that is not theirs.
#include "builders/net/layers.h"
#include "builders/optimizers/momentum_sgd.h"

#include <gtest/gtest.h>

#include "operators/all.h"
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
  Graph graph(all_ops());  // libonnx by itself ends the program here
  const Value x = graph.input("x", {DType::float32, {"N", 12}});
  for (const Dims& dims : {Dims{8, 12}, Dims{8, 12, 3, 3}}) {
    const Value w =
        graph.input("w" + std::to_string(dims.size()), {DType::float32, to_shape(dims)});
    expect_error([&] { conv(graph, x, w, {}, {}, "conv1"); }, "conv1 (Conv",
                 "data is [N,12], should be [batch, channels, one size or more]");
  }
}

}  // namespace
}  // namespace lockstep::testing
