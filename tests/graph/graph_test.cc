// SPDX-License-Identifier: Apache-2.0
#include "lockstep/graph.h"

#include <gtest/gtest.h>

#include "graph/passes/bind.h"
#include "graph/passes/postpone.h"
#include "graph/passes/prune.h"
#include "graph/placement.h"
#include "lockstep/operators.h"
#include "lockstep/types.h"
#include "operators/collective/collective.h"
#include "operators/conv/conv.h"
#include "tests/support/expect_error.h"

namespace lockstep::testing {
namespace {

const TensorType kRow{DType::float32, {"N", 4}};

TEST(Graph, NamesNestAndStayUnique) {
  Graph graph(all_ops());
  NameScope outer(graph, "gpu_0");
  Value x = graph.input("x", kRow);
  EXPECT_EQ(graph.name(x), "gpu_0/x");
  NameScope inner(graph, "block1");
  EXPECT_EQ(graph.name(relu(graph, x, "act")), "gpu_0/block1/act");
  EXPECT_EQ(graph.name(relu(graph, x, "act")), "gpu_0/block1/act_1");
  EXPECT_EQ(graph.name(relu(graph, x)), "gpu_0/block1/Relu");
  EXPECT_EQ(graph.name(relu(graph, x)), "gpu_0/block1/Relu_1");
}

TEST(Graph, RemembersReplicaAndCallSite) {
  Graph graph(all_ops());
  Value x = graph.input("x", kRow);
  ReplicaScope replica(graph, 3);
  Value y = relu(graph, x, "act");
  const int line = __LINE__ - 1;
  Node node = *graph.producer(y);
  EXPECT_EQ(node.replica(), 3);
  EXPECT_EQ(node.where(), join("tests/graph/graph_test.cc:", line));
  EXPECT_EQ(node.description(),
            join("act (Relu, replica 3, tests/graph/graph_test.cc:", line, ")"));
}

TEST(Graph, KnowsProducersAndConsumers) {
  Graph graph(all_ops());
  Value x = graph.input("x", kRow);
  Value y = add(graph, x, x, "y");
  relu(graph, y);
  EXPECT_FALSE(graph.producer(x));
  EXPECT_EQ(graph.producer(y)->name(), "y");
  EXPECT_EQ(graph.consumers(x), (std::vector<int>{0, 0}));
  EXPECT_EQ(graph.consumers(y), std::vector<int>{1});
}

TEST(Graph, ASymbolicBatchFlowsThrough) {
  Graph graph(all_ops());
  Value x = graph.input("x", {DType::float32, {"N", 3, 8, 8}});
  Value w = graph.input("w", {DType::float32, {6, 3, 3, 3}});
  Value y = conv(graph, x, w);
  EXPECT_EQ(text_of(graph.type(y)), "float32[N,6,6,6]");
  EXPECT_EQ(text_of(graph.type(flatten(graph, y))), "float32[N,216]");
}

// ONNX's inference accepts these graphs.
TEST(Graph, RefusesWhatOnnxLetsPass) {
  Graph graph(all_ops());
  Value x = graph.input("x", {DType::float32, {2, 4, 8, 8}});
  Value w = graph.input("w", {DType::float32, {6, 3, 3, 3}});
  expect_error([&] { conv(graph, x, w, none, {}, "conv1"); }, "conv1", "Conv",
               "tests/graph/graph_test.cc", "weight expects 3 channels, data has 4",
               "float32[2,4,8,8]", "float32[6,3,3,3]");
  Value b = graph.input("b", {DType::float32, {5}});
  Value w4 = graph.input("w4", {DType::float32, {6, 4, 3, 3}});
  expect_error([&] { conv(graph, x, w4, b, {}, "conv2"); }, "conv2", "bias is [5], should be [6]");
  Value wide = graph.input("wide", {DType::float32, {6, 2}});
  expect_error([&] { conv(graph, x, w4, wide, {}, "conv3"); },
               "bias is [6,2], should be [6]; PyTorch 2.15 exports some Conv3d(bias=False)");
  EXPECT_EQ(graph.node_count(), 0) << "a refused node leaves a trace";
}

TEST(Graph, NamesTheNodeWhoseShapesDoNotFit) {
  Graph graph(all_ops());
  Value a = graph.input("a", {DType::float32, {2, 3}});
  Value b = graph.input("b", {DType::float32, {4, 5}});
  expect_error([&] { matmul(graph, a, b, "product"); }, "product", "MatMul", "float32[2,3]",
               "float32[4,5]");
  expect_error([&] { gemm(graph, a, b, none, {}, "fc"); }, "fc", "inner dimensions are 3 and 4");
  expect_error([&] { add(graph, a, b, "sum"); }, "sum", "Add");
}

TEST(Graph, RefusesAttributesThatNobodyReads) {
  Graph graph(all_ops());
  Value x = graph.input("x", kRow);
  auto with = [&](const char* name) {
    graph.add({.type = "Relu", .inputs = {x}, .attributes = {{name, int64_t{1}}}}, "act");
  };
  expect_error([&] { with("device"); }, "act", "device");
  with("__replica");  // a double underscore marks an internal attribute
}

TEST(Graph, RefusesUnknownOperatorsAndForeignValues) {
  Graph graph(all_ops());
  Value x = graph.input("x", kRow);
  expect_error([&] { graph.add({.type = "Conw", .inputs = {x}}, ""); }, "no operator Conw",
               "graph_test.cc:", "did you mean Conv?");
  expect_error([&] { graph.add({.type = "ReLU", .inputs = {x}}, ""); }, "did you mean Relu?");
  expect_error([&] { graph.add({.type = "LeakyReLU", .inputs = {x}}, ""); },
               "did you mean LeakyRelu?");
  expect_error([&] { graph.add({.type = "batchNormTrain", .inputs = {x}}, ""); },
               "did you mean ai.lockstep.BatchNormTrain?");
  // An unknown operator without a similar name gets no suggestion.
  for (const char* other : {"If", "Loop", "DFT", "ImageDecoder"}) {
    try {
      all_ops().named("", other, "n");
      ADD_FAILURE() << other << " is known";
    } catch (const Error& error) {
      EXPECT_EQ(error.what(), join("no operator ", other, " is known (used by n)"));
    }
  }
  expect_error([&] { relu(graph, Value{17}); }, "value number 17");
  expect_error([&] { graph.input("x", kRow); }, "already has a value named 'x'");
  expect_error([&] { graph.at("xx"); }, "no value 'xx'", "nearest is 'x'");
}

TEST(Graph, ReordersOnlyIntoValidOrders) {
  Graph graph(all_ops());
  Value x = graph.input("x", kRow);
  Value a = relu(graph, x, "a");
  relu(graph, a, "b");
  relu(graph, x, "c");
  graph.reorder({2, 0, 1});
  EXPECT_EQ(graph.node(0).name(), "c");
  EXPECT_EQ(graph.producer(a)->index(), 1);
  EXPECT_EQ(graph.consumers(a), std::vector<int>{2});
  expect_error([&] { graph.reorder({2, 1, 0}); }, "b would come before its operand a");
  expect_error([&] { graph.reorder({0, 0, 1}); }, "listed twice");
  expect_error([&] { graph.keep({true}); }, "a choice for 1 of 3 nodes");
}

TEST(Graph, PrunesWhatNothingNeeds) {
  Graph graph(all_ops());
  Value x = graph.input("x", kRow);
  Value y = relu(graph, x, "y");
  reshape(graph, x, {-1}, "unused");
  prune(graph, {y});
  EXPECT_EQ(graph.node_count(), 1);
  EXPECT_FALSE(graph.find("unused_shape"));
  EXPECT_TRUE(bool(graph.find("y")));
}

TEST(Graph, ACloneIsIndependent) {
  Graph graph(all_ops());
  Value x = graph.input("x", kRow);
  relu(graph, x, "a");
  Graph copy = graph.clone();
  relu(copy, x, "b");
  EXPECT_EQ(graph.node_count(), 1);
  EXPECT_EQ(copy.node_count(), 2);
}

TEST(Half, RoundsToNearestEvenAndBack) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {  // every half survives conversion to float
    Half half;
    half.bits = static_cast<uint16_t>(bits);
    const float wide = half;
    if (wide == wide) {
      EXPECT_EQ(Half(wide).bits, bits);
    }
  }
  EXPECT_EQ(Half(65519.0F).bits, 0x7BFF);
  EXPECT_EQ(Half(65520.0F).bits, 0x7C00);
  EXPECT_EQ(Half(1.0F + 0x1p-11F).bits, 0x3C00) << "a tie goes to the even neighbour";
  EXPECT_EQ(Half(1.0F + 3 * 0x1p-11F).bits, 0x3C02);
  EXPECT_EQ(Half(0x1p-25F).bits, 0x0000);
  EXPECT_EQ(BFloat16(1.0F + 0x1p-8F).bits, 0x3F80);
  EXPECT_EQ(static_cast<float>(BFloat16(3.140625F)), 3.140625F);
}

TEST(Bind, GivesSymbolsTheirSizeAndFoldsShapes) {
  Graph graph(all_ops());
  Value x = graph.input("x", {DType::float32, {"N", 2, 3}});
  Value flat = flatten(graph, x, 1, "flat");
  Value back = reshape_like(graph, flat, x, "back");
  EXPECT_EQ(text_of(graph.type(back)), "float32[N,2,3]");
  Graph bound = bind_shapes(graph, {{"x", {5, 2, 3}}}, {"back"}, nullptr);
  EXPECT_EQ(text_of(bound.type(bound.at("back"))), "float32[5,2,3]");
  EXPECT_EQ(bound.node_count(), 2) << "the Shape node should be a constant";
}

TEST(Bind, RefusesFeedsThatDoNotFit) {
  Graph graph(all_ops());
  Value x = graph.input("x", {DType::float32, {"N", 4}});
  Value y = graph.input("y", {DType::float32, {"N", 4}});
  add(graph, x, y, "sum");
  auto bind = [&](Dims of_x, Dims of_y) {
    bind_shapes(graph, {{"x", of_x}, {"y", of_y}}, {"sum"}, nullptr);
  };
  expect_error([&] { bind({2, 5}, {2, 4}); }, "input 'x' is declared [N,4] but is fed [2,5]");
  expect_error([&] { bind({2, 4}, {3, 4}); }, "input 'y'", "'N' is already 2");
}

// A shape that depends on data cannot be planned.
TEST(Bind, NamesANodeWhoseShapeDependsOnData) {
  Graph graph(all_ops());
  Value x = graph.input("x", {DType::float32, {6}});
  Value to = graph.input("to", {DType::int64, {2}});
  graph.add({.type = "Reshape", .inputs = {x, to}}, "free");
  expect_error([&] { bind_shapes(graph, {}, {"free"}, nullptr); }, "free (Reshape",
               "depends on data");
}

// ONNX's shape inference needs contents as literals; pruning must preserve them.
TEST(Graph, WhatAShapeVectorHoldsIsStillKnownAfterPruning) {
  Graph graph(all_ops());
  Value x = graph.input("x", {DType::float32, {2, 3, 4}});
  Value unused = relu(graph, x, "unused");
  Value dims = graph.add_value({.type = "Shape", .inputs = {x}}, "dims");
  graph.output(dims);
  EXPECT_TRUE(bool(unused));
  prune(graph, {dims});
  EXPECT_EQ(graph.node_count(), 1);
  Value filled =
      graph.add_value({.type = "ConstantOfShape", .inputs = {graph.at("dims")}}, "filled");
  EXPECT_EQ(text_of(graph.shape(filled)), "[2,3,4]");
}

// Each operand and result of a collective is on its own replica. A model's tables take precedence
// over uses.
TEST(Placement, EveryValueHasAHome) {
  Graph graph(all_ops());
  std::vector<Value> x;
  for (const char* name : {"a", "b", "c"}) x.push_back(graph.input(name, {DType::float32, {2}}));
  const std::vector<Value> sums = all_reduce(graph, x, Reduction::sum, {"sa", "sb", "sc"}, "sum");
  for (int k = 0; k < 3; ++k) {
    EXPECT_EQ(home_of(graph, x[k]), k);
    EXPECT_EQ(home_of(graph, sums[k]), k);
  }
  Value unused = graph.input("unused", {DType::float32, {2}});
  EXPECT_EQ(home_of(graph, unused), kEveryReplica);
  EXPECT_EQ(replica_of(graph, unused), 0);
  EXPECT_EQ(home_of(graph, unused, {{"unused", 2}}), 2);

  Value mixed = graph.input("mixed", {DType::float32, {2}});
  relu(graph, mixed, "on_all");
  EXPECT_EQ(home_of(graph, mixed), kEveryReplica);
  {
    ReplicaScope replica(graph, 1);
    EXPECT_EQ(home_of(graph, relu(graph, mixed, "on_1")), 1);
  }
  EXPECT_EQ(home_of(graph, mixed), 1) << "a user on every replica does not count";
  ReplicaScope replica(graph, 2);
  relu(graph, mixed, "on_2");
  EXPECT_EQ(home_of(graph, mixed), kEveryReplica) << "two replicas use the value";
}

class Postpone : public ::testing::Test {
 protected:
  Value step(Value x, const char* name) {
    ReplicaScope replica(graph, 0);
    return relu(graph, x, name);
  }
  Value reduce(Value x, const char* name) {
    return all_reduce(graph, {x}, Reduction::sum, {name}, name)[0];
  }
  std::vector<std::string> names_in_order() const {
    std::vector<std::string> names;
    for (int i = 0; i < graph.node_count(); ++i) names.push_back(graph.node(i).name());
    return names;
  }

  Graph graph{all_ops()};
};

// Two chains of communication, the consumers of each, and nodes that depend on neither.
TEST_F(Postpone, MovesOnlyWhatFollowsCommunicationAndLeadsToNone) {
  Value x = graph.input("x", {DType::float32, {2}});
  Value first = reduce(step(x, "before"), "first");
  step(step(first, "update"), "update_2");
  Value between = step(step(first, "between"), "between_2");
  step(x, "computation");
  reduce(between, "second");
  step(x, "computation_2");
  postpone_what_follows(graph, [](const Node& node) { return node.op()->collective; });
  const std::vector<std::string> order = names_in_order();
  EXPECT_EQ(order,
            (std::vector<std::string>{"before", "first", "between", "between_2", "computation",
                                      "second", "computation_2", "update", "update_2"}));
}

// Two reduces in a row. Beside the second, a node that must not be late and another node.
TEST_F(Postpone, MovesTheLastCommunicationItself) {
  Value x = graph.input("x", {DType::float32, {2}});
  Value statistics = reduce(step(x, "before"), "statistics");
  Value gradient = step(statistics, "gradient");
  step(reduce(gradient, "large"), "large_update");
  step(reduce(gradient, "small"), "small_update");
  reduce(step(gradient, "gradient_2"), "small_2");
  step(x, "computation");
  std::vector<int> late =
      last_communication(graph, [](const Node& node) { return node.op()->collective; });
  std::erase_if(late, [&](int node) { return graph.node(node).name() == "large"; });
  postpone(graph, late);
  const std::vector<std::string> order = names_in_order();
  EXPECT_EQ(order, (std::vector<std::string>{"before", "statistics", "gradient", "large",
                                             "large_update", "gradient_2", "computation", "small",
                                             "small_update", "small_2"}));
}

TEST(Attributes, AreReadOnce) {
  Graph graph(all_ops());
  Value x = graph.input("x", {DType::float32, {4}});
  Node node = graph.add({.type = "LeakyRelu", .inputs = {x}, .attributes = {{"alpha", 0.2F}}}, "y");
  AttributeReader reader = node.attributes();
  EXPECT_FLOAT_EQ(0.2F, reader.number("alpha", 0.01F));
  expect_error([&] { reader.number("alpha", 0.01F); }, "attribute 'alpha' is read twice");
}

}  // namespace
}  // namespace lockstep::testing
