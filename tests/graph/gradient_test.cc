// SPDX-License-Identifier: Apache-2.0
// The nodes that the reverse pass adds. The operator tables check their numbers.
#include "graph/gradient.h"

#include <gtest/gtest.h>

#include "graph/print.h"
#include "lockstep/operators.h"
#include "tests/support/expect_error.h"

namespace lockstep::testing {
namespace {

class GradientTest : public ::testing::Test {
 protected:
  Value input(const std::string& name) { return graph.input(name, {DType::float32, {2, 3}}); }
  Value total(Value x) { return reduce_sum(graph, x, {}, false, "loss"); }
  // The types of the nodes that the pass added.
  std::vector<std::string> added(int first) const {
    std::vector<std::string> types;
    for (int i = first; i < graph.node_count(); ++i) types.push_back(graph.node(i).type());
    return types;
  }
  Graph graph{all_ops()};
};

TEST_F(GradientTest, NamesTheGradientAfterTheValue) {
  Value x = input("x"), w = input("w");
  Gradients g = add_gradients(graph, {{total(mul(graph, x, w, "y"))}}, {w});
  EXPECT_EQ(graph.name(g.values[0]), "w_grad");
  EXPECT_EQ(graph.name(graph.at("loss_grad")), "loss_grad");
  EXPECT_TRUE(bool(graph.find("y_grad")));
  EXPECT_FALSE(graph.find("x_grad")) << "the gradient is not requested";
}

TEST_F(GradientTest, AddsOnlyWhatIsNeeded) {
  Value x = input("x"), w = input("w");
  Value loss = total(relu(graph, mul(graph, x, w, "y"), "r"));
  sigmoid(graph, w, "unrelated");
  int first = graph.node_count();
  add_gradients(graph, {{loss}}, {w});
  EXPECT_EQ(added(first), (std::vector<std::string>{"Unsqueeze", "Expand", "ReluGrad", "Mul"}));
}

TEST_F(GradientTest, SumsTheContributionsOfAllUsers) {
  Value w = input("w");
  Value y = add(graph, relu(graph, w, "a"), sigmoid(graph, w, "b"), "y");
  Value loss = total(mul(graph, y, w, "z"));
  Gradients g = add_gradients(graph, {{loss}}, {w});
  Node sum = *graph.producer(g.values[0]);
  EXPECT_EQ(sum.type(), "Sum");
  EXPECT_EQ(sum.inputs().size(), 3u);
  for (int i = 0; i < 3; ++i)
    EXPECT_TRUE(bool(graph.find(join("w_grad_autosplit_", i)))) << text_of(graph);
}

TEST_F(GradientTest, AValueUsedTwiceByOneNodeCountsTwice) {
  Value w = input("w");
  Gradients g = add_gradients(graph, {{total(mul(graph, w, w, "square"))}}, {w});
  EXPECT_EQ(graph.producer(g.values[0])->type(), "Sum");
}

TEST_F(GradientTest, PassesThroughWithoutNodes) {
  Value a = input("a"), b = input("b");
  Value loss = total(add(graph, a, b, "y"));
  int first = graph.node_count();
  Gradients g = add_gradients(graph, {{loss}}, {a, b});
  EXPECT_EQ(graph.name(g.values[0]), "a_grad");
  EXPECT_EQ(graph.name(g.values[1]), "b_grad");
  // Both gradients share one tensor; the second name is a copy (a view in a plan).
  EXPECT_EQ(added(first), (std::vector<std::string>{"Unsqueeze", "Expand", "Identity"}));
}

TEST_F(GradientTest, StopsAtStopGradient) {
  Value w = input("w"), v = input("v");
  Value y = mul(graph, stop_gradient(graph, mul(graph, w, v, "frozen")), v, "y");
  Gradients g = add_gradients(graph, {{total(y)}}, {w, v});
  EXPECT_FALSE(g.values[0]);
  EXPECT_EQ(g.unreached, std::vector<std::string>{"w"});
  EXPECT_EQ(graph.producer(g.values[1])->type(), "Mul");
}

// Both gradients share one tensor; the second name is a copy on the values' replica.
TEST_F(GradientTest, CopiesLieWhereTheirValuesLie) {
  std::vector<Value> params;
  std::vector<Loss> losses;
  for (int k : {0, 1}) {
    ReplicaScope replica(graph, k);
    NameScope scope(graph, join("r", k));
    params.push_back(input("a"));
    params.push_back(input("b"));
    losses.push_back({total(add(graph, params[params.size() - 2], params.back(), "y"))});
  }
  add_gradients(graph, losses, params);
  for (int k : {0, 1})
    for (const char* name : {"a_grad", "b_grad"})
      EXPECT_EQ(graph.producer(graph.at(join("r", k, "/", name)))->replica(), k) << name;
}

TEST_F(GradientTest, StopsAtIntegers) {
  Value x = input("x"), w = input("w");
  Value whole = cast(graph, w, DType::int64, "whole");
  Value rounded = cast(graph, whole, DType::float32, "rounded");
  Gradients g = add_gradients(graph, {{total(mul(graph, rounded, x, "y"))}}, {x, w});
  EXPECT_TRUE(bool(g.values[0]));
  EXPECT_FALSE(bool(g.values[1])) << text_of(graph);
  EXPECT_EQ(g.unreached, (std::vector<std::string>{"w"}));
}

TEST_F(GradientTest, NamesAnOperatorWithoutGradient) {
  Value w = input("w");
  Value step =
      graph.add_value({.type = "ReluGrad", .domain = kOwnDomain, .inputs = {w, w}}, "second_order");
  expect_error([&] { add_gradients(graph, {{total(step)}}, {w}); }, "second_order (ReluGrad",
               "has no gradient");
}

TEST_F(GradientTest, ComparisonsAreConstant) {
  Value w = input("w");
  Value mask = cast(graph, equal(graph, w, w, "same"), DType::float32, "mask");
  Gradients g = add_gradients(graph, {{total(mul(graph, w, mask, "y"))}}, {w});
  EXPECT_EQ(graph.producer(g.values[0])->type(), "Mul");
}

TEST_F(GradientTest, SeveralLossesAdd) {
  Value w = input("w");
  Value first = reduce_sum(graph, relu(graph, w), {}, false, "first");
  Value second = reduce_sum(graph, sigmoid(graph, w), {}, false, "second");
  Gradients g = add_gradients(graph, {{first}, {second}}, {w});
  EXPECT_EQ(graph.producer(g.values[0])->type(), "Sum");
}

TEST_F(GradientTest, ALossMustBeAScalarOrBringASeed) {
  Value w = input("w");
  Value y = relu(graph, w, "y");
  expect_error([&] { add_gradients(graph, {{y}}, {w}); }, "loss 'y' has shape [2,3]");
  Gradients g = add_gradients(graph, {{y, input("seed")}}, {w});
  EXPECT_EQ(graph.producer(g.values[0])->type(), "ReluGrad");
}

TEST_F(GradientTest, GradientNodesKeepReplicaAndCallSite) {
  Value w = input("w");
  Value y;
  {
    ReplicaScope replica(graph, 2);
    y = relu(graph, w, "y");
  }
  std::string where = graph.producer(y)->where();
  Gradients g = add_gradients(graph, {{total(y)}}, {w});
  EXPECT_EQ(graph.producer(g.values[0])->replica(), 2);
  EXPECT_EQ(graph.producer(g.values[0])->where(), where);
}

TEST_F(GradientTest, OnlyReachedOutputsHaveGradients) {
  Value scores = graph.input("scores", {DType::float32, {2, 3}});
  Value label = graph.input("label", {DType::int64, {2}});
  Node node = graph.add(
      {.type = "SoftmaxCrossEntropyLoss", .inputs = {scores, label}, .outputs = 2}, "loss");
  Gradients g = add_gradients(graph, {{total(node.outputs()[1])}}, {scores});
  EXPECT_EQ(graph.producer(g.values[0])->type(), "LogSoftmaxGrad");
}

}  // namespace
}  // namespace lockstep::testing
