// SPDX-License-Identifier: Apache-2.0
// Linear layers as exporters write them, and the products that a step makes of the layers.
#include <gtest/gtest.h>

#include <algorithm>

#include "lockstep/losses.h"
#include "lockstep/operators.h"
#include "tests/support/step_feeds.h"

namespace lockstep::testing {
namespace {

struct Written {
  int rank = 3;             // of the layer's operand
  bool transposed = true;   // the weight is [out, in] and is transposed in the graph
  bool bias_first = false;  // the bias is the first operand of the sum
  bool bias = true;
  bool hidden = false;             // copies separate its nodes, so no pass recognises the layer
  bool product_is_read = false;    // by a node other than the sum
  bool transpose_is_read = false;  // by a node other than the product
};

Value hide(Net& net, Value value, bool hidden) {
  return hidden ? identity(net.graph, value) : value;
}

// A layer from 6 to 4 numbers and a classifier of the sum of its rows, on images of 6 x 6.
ModelFn network(const Written& written) {
  return [=](Net& net) {
    Graph& graph = net.graph;
    const Value images = net.input("data", {DType::float32, {Dim("N"), 1, 6, 6}});
    std::vector<int64_t> sizes{-1, 6};
    if (written.rank == 3) sizes = {-1, 6, 6};
    if (written.rank == 4) sizes = {-1, 2, 3, 6};
    const Value x = reshape(graph, images, sizes, "rows_of_images");
    const Dims dims = written.transposed ? Dims{4, 6} : Dims{6, 4};
    const Value w = net.param("w", dims, gaussian(0.5F));
    Value right = w;
    if (written.transposed)
      right = hide(net, transpose(graph, w, {1, 0}, "w_transposed"), written.hidden);
    const Value product = matmul(graph, x, right, "product");
    Value y = hide(net, product, written.hidden);
    if (written.bias) {
      const Value b = net.param("b", {4}, gaussian(0.5F));
      y = written.bias_first ? add(graph, b, y, "y") : add(graph, y, b, "y");
    }
    if (written.product_is_read) y = add(graph, y, product);
    if (written.transpose_is_read) y = add(graph, y, slice(graph, right, 0, 0, 1));
    const Value v = net.param("v", {5, 36 / 6 * 4}, gaussian(0.5F));
    const Value scores = gemm(graph, reshape(graph, y, {-1, 24}), v, none, {.trans_b = true});
    classify(net, scores);
  };
}

TrainingModel step_of(const Written& written, int replicas = 1) {
  return build_data_parallel_model(all_ops(), network(written), MomentumSgd{},
                                   {.replicas = replicas, .scope = "cpu"});
}

int count_of(const Graph& graph, const std::string& type) {
  int count = 0;
  for (int index = 0; index < graph.node_count(); ++index)
    count += graph.node(index).type() == type;
  return count;
}

std::vector<Written> ways_of_writing() {
  std::vector<Written> all;
  for (int rank : {2, 3, 4})
    for (bool transposed : {false, true})
      for (bool bias_first : {false, true}) all.push_back({rank, transposed, bias_first});
  return all;
}

// The classifier has three products: one forward and two gradients. The layer's operand needs no
// gradient.
TEST(LinearLayers, BecomeOneProductEach) {
  for (const Written& written : ways_of_writing()) {
    SCOPED_TRACE(::testing::Message() << written.rank << written.transposed << written.bias_first);
    const Graph step = step_of(written).step;
    EXPECT_EQ(count_of(step, "MatMul"), 0);
    EXPECT_EQ(count_of(step, "Transpose"), 0);
    EXPECT_EQ(count_of(step, "Add"), 0);
    EXPECT_EQ(count_of(step, "Gemm"), 3 + 2);
    EXPECT_EQ(step.shape(step.at("cpu_0/y")).size(), static_cast<std::size_t>(written.rank));
  }
}

TEST(LinearLayers, TrainAsTheyWereWritten) {
  for (Written written : ways_of_writing())
    for (int replicas : {1, 2}) {
      SCOPED_TRACE(::testing::Message()
                   << written.rank << written.transposed << written.bias_first << replicas);
      const TrainingModel products = step_of(written, replicas);
      written.hidden = true;
      const TrainingModel whole = step_of(written, replicas);
      EXPECT_EQ(count_of(whole.step, "MatMul"), replicas);
      expect_close(train(products, 12, 4, kSmall), train(whole, 12, 4, kSmall), products);
    }
}

TEST(LinearLayers, KeepWhatOthersRead) {
  for (const Written& written :
       {Written{.product_is_read = true}, Written{.transpose_is_read = true},
        Written{.bias = false, .transpose_is_read = true}}) {
    const TrainingModel products = step_of(written);
    Written hidden = written;
    hidden.hidden = true;
    expect_close(train(products, 12, 4, kSmall), train(step_of(hidden), 12, 4, kSmall), products);
  }
  EXPECT_NE(step_of({.product_is_read = true}).step.find("cpu_0/product"), none);
  EXPECT_NE(step_of({.transpose_is_read = true}).step.find("cpu_0/w_transposed"), none);
}

// The inner size is the weight's if the network leaves the operand's size symbolic.
TEST(LinearLayers, OperandsOfUnknownSizeTrain) {
  const auto open = [](Net& net) {
    const Value x = net.input("data", {DType::float32, {Dim("N"), 3, Dim("K")}});
    const Value w = net.param("w", {5, 6}, gaussian(0.5F));
    const Value b = net.param("b", {5}, gaussian(0.5F));
    const Value product = matmul(net.graph, x, transpose(net.graph, w, {1, 0}));
    classify(net, reshape(net.graph, add(net.graph, product, b), {-1, 15}));
  };
  const TrainingModel model = build_data_parallel_model(all_ops(), open, MomentumSgd{});
  EXPECT_EQ(count_of(model.step, "Gemm"), 1) << "the weight's gradient";
  const auto of_w = std::ranges::find(model.gradients, "w", &Replicated::name);
  ASSERT_NE(of_w, model.gradients.end());
  EXPECT_EQ(model.step.shape(model.step.at(of_w->values[0])), (Shape{5, 6}));
}

TEST(LinearLayers, WithoutBiasOrTransposeStayProducts) {
  const Graph step = step_of({.transposed = false, .bias = false}).step;
  EXPECT_EQ(count_of(step, "MatMul"), 1);
  EXPECT_EQ(count_of(step, "Gemm"), 3 + 1) << "the gradient of the weight is one product";
  EXPECT_EQ(count_of(step_of({.bias = false}).step, "MatMul"), 0);
}

}  // namespace
}  // namespace lockstep::testing
