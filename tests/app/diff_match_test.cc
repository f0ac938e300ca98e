// SPDX-License-Identifier: Apache-2.0
// The pairs that `lockstep diff` makes of two graphs, and the differences that are left.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "app/diff/diff_text.h"
#include "app/diff/graph_match.h"
#include "app/diff/model_changes.h"
#include "lockstep/data_parallel.h"
#include "lockstep/layers.h"
#include "lockstep/models.h"
#include "lockstep/operators.h"
#include "lockstep/optimizers.h"
#include "tests/support/networks.h"

namespace lockstep::testing {
namespace {

TrainingModel step_of(const std::string& network = "batch_norm", DataParallelOptions options = {}) {
  options.replicas = 2;
  options.scope = "cpu";
  return build_data_parallel_model(all_ops(), small_network(network).model,
                                   MomentumSgd{.momentum = 0.9F}, options);
}

std::string told(const TrainingModel& a, const TrainingModel& b, const DiffTextOptions& how = {}) {
  DiffResult result{"a", "b", differences_of(a, b).changes};
  result.replicas = std::min(a.replicas, b.replicas);
  return text_of(result, how);
}

// A network of one layer after the other, with the results' names.
struct Layer {
  const char* type;
  const char* name;
};
TrainingModel chain(const std::vector<Layer>& layers, const std::string& input = "x") {
  TrainingModel model(all_ops());
  Graph& graph = model.inference;
  Value x = graph.input(input, {DType::float32, {2, 3}});
  for (const Layer& layer : layers)
    x = graph.add_value({.type = layer.type, .inputs = {x}}, layer.name);
  graph.output(x);
  return model;
}

int node_named(const Graph& graph, const std::string& result) {
  return graph.producer(graph.at(result))->index();
}

TEST(Diff, AStepBuiltTwiceIsEqual) {
  for (const SmallNetwork& network : small_networks()) {
    const auto build = [&] {
      DataParallelOptions options = network.options;
      options.replicas = 2;
      return build_data_parallel_model(all_ops(), network.model, Adam{}, options);
    };
    const TrainingModel a = build(), b = build();
    const ModelDifference found = differences_of(a, b);
    EXPECT_TRUE(found.changes.empty()) << network.name << "\n" << told(a, b);
    EXPECT_EQ(found.states.size(), a.states.size());
    EXPECT_EQ(found.nodes_a, a.inference.node_count() + a.init.node_count() + a.step.node_count());
  }
}

TEST(Diff, AnAttributeIsNamedWithBothValues) {
  const TrainingModel a = step_of();
  TrainingModel b = step_of();
  const int node = node_named(b.step, "cpu_1/conv1");
  b.step.set_attribute(node, "pads", std::vector<int64_t>{1, 1, 1, 2});
  EXPECT_EQ(told(a, b),
            "step  attribute pads of conv1 (Conv), on replica 1: [1,1,1,1] -> [1,1,1,2]\n");
  b.step.set_attribute(node_named(b.step, "cpu_0/conv1"), "pads", std::vector<int64_t>{1, 1, 1, 2});
  EXPECT_EQ(told(a, b), "step  attribute pads of conv1 (Conv): [1,1,1,1] -> [1,1,1,2]\n");
  b.step.drop_attribute(node, "pads");
  b.step.drop_attribute(node_named(b.step, "cpu_0/conv1"), "pads");
  EXPECT_EQ(told(a, b), "step  attribute pads of conv1 (Conv): [1,1,1,1] -> (none)\n");
}

// Floats that print alike, and attributes of other types, differ.
TEST(Diff, ValuesThatPrintAlikeDiffer) {
  const auto with = [](const AttributeValue& value) {
    TrainingModel model = chain({{"LeakyRelu", "y"}});
    model.inference.set_attribute(0, "alpha", value);
    return model;
  };
  const float tenth = 0.1F, next = std::nextafter(tenth, 1.0F);
  EXPECT_EQ(told(with(tenth), with(next)),
            "inference  attribute alpha of y (LeakyRelu): 0.1 -> 0.10000001\n");
  EXPECT_EQ(told(with(1.0F), with(int64_t{1})),
            "inference  attribute alpha of y (LeakyRelu): 1 (FLOAT) -> 1 (INT)\n");
  EXPECT_EQ(told(with(std::nanf("")), with(std::nanf(""))), "equal: \n");
}

TEST(Diff, ReducesThatAreExchangedAreNamed) {
  const TrainingModel a = step_of();
  TrainingModel b = step_of();
  const int one = node_named(b.step, "cpu_0/pred_w_grad_sum");
  const int other = node_named(b.step, "cpu_0/pred_b_grad_sum");
  ASSERT_LT(one, other);
  // The first reduce, and the nodes that depend on it, follow the other reduce.
  std::vector<bool> later(static_cast<std::size_t>(b.step.node_count()), false);
  std::vector<int> order, delayed;
  for (int i = 0; i < b.step.node_count(); ++i) {
    bool depends = i == one;
    for (Value operand : b.step.node(i).inputs())
      if (const auto maker = operand ? b.step.producer(operand) : std::nullopt)
        depends = depends || later[static_cast<std::size_t>(maker->index())];
    later[static_cast<std::size_t>(i)] = depends;
    (depends && i < other ? delayed : order).push_back(i);
    if (i == other) order.insert(order.end(), delayed.begin(), delayed.end());
  }
  b.step.reorder(order);
  const std::string text = told(a, b);
  EXPECT_NE(text.find("step  order of "), std::string::npos) << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
}

TEST(Diff, ANodeThatMovesIsNamedWithItsPlaces) {
  const auto two_branches = [](bool exchanged) {
    TrainingModel model(all_ops());
    Graph& graph = model.inference;
    const Value x = graph.input("x", {DType::float32, {2}});
    for (const char* name : exchanged ? std::vector{"right", "left"} : std::vector{"left", "right"})
      graph.add_value({.type = "Relu", .inputs = {x}}, name);
    graph.output(
        graph.add_value({.type = "Add", .inputs = {graph.at("left"), graph.at("right")}}, "both"));
    return model;
  };
  EXPECT_EQ(told(two_branches(false), two_branches(true)),
            "inference  order of left (Relu): at the beginning -> after right\n");
}

TEST(Diff, AnInsertedNodeIsNoOtherDifference) {
  const TrainingModel a = chain({{"Relu", "one"}, {"Tanh", "two"}, {"Sigmoid", "three"}});
  const TrainingModel b =
      chain({{"Relu", "one"}, {"Neg", "new"}, {"Tanh", "two"}, {"Sigmoid", "three"}});
  EXPECT_EQ(told(a, b), "inference  new (Neg) only in B, between Relu and Tanh\n");
  EXPECT_EQ(told(b, a), "inference  new (Neg) only in A, between Relu and Tanh\n");
  // A node of the same operator as the next one.
  const TrainingModel c =
      chain({{"Relu", "one"}, {"Tanh", "new"}, {"Tanh", "two"}, {"Sigmoid", "three"}});
  EXPECT_EQ(told(a, c), "inference  new (Tanh) only in B, between Relu and Tanh\n");
}

// Each of `users` nodes reads x in one model; in the other, the last of a number of nodes, none of
// which reads x.
TrainingModel with_users(int users, int between) {
  TrainingModel model(all_ops());
  Graph& graph = model.inference;
  const Value x = graph.input("x", {DType::float32, {2, 3}});
  Value y = graph.input("y", {DType::float32, {2, 3}});
  for (int i = 0; i < between; ++i)
    y = graph.add_value({.type = "Relu", .inputs = {y}}, join("between", i));
  for (int i = 0; i < users; ++i)
    graph.output(
        graph.add_value({.type = "Neg", .inputs = {between > 0 ? y : x}}, join("user", i)));
  return model;
}

// The search for one operand takes nothing from the searches for others.
TEST(Diff, EveryOperandIsNamedInALargeGraph) {
  constexpr int kUsers = 2000;
  const auto operands = [&](int between) {
    const Changes changes =
        differences_of(with_users(kUsers, 0), with_users(kUsers, between)).changes;
    return std::count_if(changes.begin(), changes.end(),
                         [](const Change& change) { return change.what == "operand 0"; });
  };
  EXPECT_EQ(operands(1), kUsers);
  EXPECT_EQ(operands(5000), kUsers);
  EXPECT_EQ(operands(20'000), 0) << "too many nodes to look at for each: they are listed";
}

TEST(Diff, AnotherOperatorUnderTheSameNameIsNamed) {
  EXPECT_EQ(told(chain({{"Relu", "one"}, {"Tanh", "act"}, {"Neg", "two"}}),
                 chain({{"Relu", "one"}, {"Sigmoid", "act"}, {"Neg", "two"}})),
            "inference  operator of act (Tanh): Tanh -> Sigmoid\n");
}

TEST(Diff, RenamedNodesAreFoundByStructure) {
  EXPECT_EQ(told(chain({{"Relu", "one"}, {"Tanh", "two"}, {"Neg", "three"}}),
                 chain({{"Relu", "one"}, {"Tanh", "other"}, {"Neg", "three"}})),
            "inference  other name of two (Tanh): two -> other\n");
  // All names differ, the input's too.
  const std::string text = told(chain({{"Relu", "one"}, {"Tanh", "two"}, {"Neg", "three"}}),
                                chain({{"Relu", "a"}, {"Tanh", "b"}, {"Neg", "c"}}, "data"));
  EXPECT_EQ(text,
            "inference  other name of 3 nodes (1 Neg, 1 Relu, 1 Tanh): one -> a, two -> b, three "
            "-> c\n"
            "inference  other name of input x: x -> data\n");
}

// PyTorch's exporter numbers values: one node more shifts all names after it.
TEST(Diff, NumbersThatShiftAreNotMistakenForOtherNodes) {
  const TrainingModel a =
      chain({{"Relu", "0"}, {"Tanh", "1"}, {"Relu", "2"}, {"Tanh", "3"}, {"Relu", "4"}});
  const TrainingModel b = chain(
      {{"Relu", "0"}, {"Neg", "1"}, {"Tanh", "2"}, {"Relu", "3"}, {"Tanh", "4"}, {"Relu", "5"}});
  const std::string text = told(a, b);
  EXPECT_NE(text.find("inference  1 (Neg) only in B, between Relu and Tanh\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("other name of 4 nodes (2 Relu, 2 Tanh): 1 -> 2, 2 -> 3, 3 -> 4 and 1 more"),
            std::string::npos)
      << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2) << text;
}

// A layer with another name: its parameters, slots and gradients follow.
TEST(Diff, ALayerWithAnotherNameIsFoundWithItsStates) {
  const auto network = [](const std::string& name) {
    return [name](Net& net) {
      Value x = net.input("data", {DType::float32, {"N", 1, 6, 6}});
      x = relu(net.graph, fc_layer(net, x, 12, {}, name), "relu");
      classify(net, fc_layer(net, x, 5, {}, "pred"));
    };
  };
  const auto build = [&](const std::string& name) {
    return build_data_parallel_model(all_ops(), network(name), MomentumSgd{},
                                     {.replicas = 2, .scope = "cpu"});
  };
  const TrainingModel a = build("fc1"), b = build("hidden");
  const ModelDifference found = differences_of(a, b);
  EXPECT_EQ(found.states.at("fc1_w"), "hidden_w");
  EXPECT_EQ(found.states.at("fc1_b_momentum"), "hidden_b_momentum");
  for (const Change& change : found.changes)
    EXPECT_EQ(change.kind, DiffKind::renamed) << told(a, b, {.all = true});
}

TEST(Diff, ScopesOfReplicasAreOneDifference) {
  const auto build = [](const char* scope) {
    return build_data_parallel_model(all_ops(), small_network("batch_norm").model, MomentumSgd{},
                                     {.replicas = 2, .scope = scope});
  };
  EXPECT_EQ(told(build("cpu"), build("gpu")), "model  names of replicas: cpu_0/.. -> gpu_0/..\n");
}

// gpu_1 is not gpu_10.
TEST(Diff, ScopesAreNoPrefixes) {
  const TrainingModel model = build_data_parallel_model(
      all_ops(), small_network("plain").model, MomentumSgd{}, {.replicas = 11, .scope = "gpu"});
  const ReplicaNames names(model);
  EXPECT_EQ(names.of("gpu_1/fc1_w"), (ScopedName{1, "fc1_w"}));
  EXPECT_EQ(names.of("gpu_10/micro_1/data"), (ScopedName{10, "micro_1/data"}));
  EXPECT_EQ(names.of("gpu_11/fc1_w"), (ScopedName{kEveryReplica, "gpu_11/fc1_w"}));
  EXPECT_EQ(names.of("fc1_w"), (ScopedName{kEveryReplica, "fc1_w"}));
}

// Names with terminal codes, line breaks, markup, or a megabyte.
TEST(Diff, NamesAreShownSafely) {
  const std::string codes = "\x1b[31mred\n<script>alert(1)</script>\xff";
  const std::string long_name(1 << 20, 'x');
  for (const std::string& name : {codes, long_name}) {
    const TrainingModel a = chain({{"Relu", "one"}, {"Neg", "two"}});
    const TrainingModel b = chain({{"Relu", "one"}, {"Tanh", name.c_str()}, {"Neg", "two"}});
    DiffResult result{"a", "b", differences_of(a, b).changes};
    for (const bool all : {false, true}) {
      const std::string text = text_of(result, {.all = all});
      EXPECT_LT(text.size(), 500U);
      EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
      for (const char byte : text) EXPECT_TRUE(byte == '\n' || (byte >= 32 && byte < 127)) << text;
    }
    const std::string json = json_of(result);
    EXPECT_EQ(json.find('\x1b'), std::string::npos);
    EXPECT_EQ(json.find('\xff'), std::string::npos);
  }
}

}  // namespace
}  // namespace lockstep::testing
