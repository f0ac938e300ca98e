// SPDX-License-Identifier: Apache-2.0
// The origins of a step's nodes: each node names a line of this file. The gradient, sum and update
// of a layer's parameter name the layer's line.
#include <gtest/gtest.h>

#include "lockstep/data_parallel.h"
#include "lockstep/layers.h"
#include "lockstep/losses.h"
#include "lockstep/operators.h"
#include "lockstep/optimizers.h"

namespace lockstep::testing {
namespace {

constexpr int kConv = __LINE__ + 4;
constexpr const char* kThisFile = "tests/builders/origin_test.cc:";
void traced_network(Net& net) {
  Value x = net.input("data", {DType::float32, {"N", 1, 8, 8}});
  x = conv_layer(net, x, 8, {.kernel = 3, .pad = 1, .bias = false}, "conv");
  x = batch_norm_layer(net, x, {}, "norm");
  x = relu(net.graph, x, "relu");
  x = max_pool_layer(net, x, {}, "pool");
  x = fc_layer(net, x, 8, {}, "fc");
  classify(net, fc_layer(net, dropout_layer(net, x, 0.5F, "drop"), 2, {}, "scores"));
}

struct OriginCase {
  std::string name;
  DataParallelOptions options;
  Optimizer optimizer = MomentumSgd{.momentum = 0.9F};
};
void PrintTo(const OriginCase& c, std::ostream* out) { *out << c.name; }

AllReduceOptions by(const char* spec) { return {.spec = parse_all_reduce(spec)}; }

DataParallelOptions two(DataParallelOptions options) {
  options.replicas = 2;
  return options;
}

std::vector<OriginCase> origin_cases() {
  AllReduceOptions packed = by("rechd");
  packed.packing = parse_packing("ready:1k:1M");
  packed.pieces = 2;
  return {
      {"plain", two({})},
      {"one_replica", {.replicas = 1}},
      {"synchronised", two({.synchronised_batch_norm = true})},
      {"parts", two({.micro_batches = 3})},
      {"deferred", two({.deferred = true, .skip_non_finite = true})},
      {"weighted", two({.weighted = true, .micro_batches = 2})},
      {"mean_statistics", two({.statistics = StatisticsPolicy::mean})},
      {"first_statistics", two({.statistics = StatisticsPolicy::first})},
      {"statistics_in_turn", two({.statistics = StatisticsPolicy::in_turn})},
      {"clipped", two({.clip = {.norm = 1, .each_norm = 1, .value = 1}})},
      {"float16", two({.precision = DType::float16})},
      {"ring", two({.all_reduce = by("xring")})},
      {"packed", two({.all_reduce = packed})},
      {"mean", two({.all_reduce = by("mean:collective")})},
      {"adam", two({.skip_non_finite = true}), Adam{}},
      {"adamw", two({}), AdamW{}},
      {"lars", two({.rules = {.weight_decay_norm = 0.1F}}), Lars{}},
  };
}

class Origin : public ::testing::TestWithParam<OriginCase> {};

void expect_lines_of_this_file(const Graph& graph, const std::string& what) {
  for (int index = 0; index < graph.node_count(); ++index) {
    const Node node = graph.node(index);
    EXPECT_EQ(node.where().rfind(kThisFile, 0), 0U) << what << ": " << node.description();
  }
}

TEST_P(Origin, IsALineOfTheModel) {
  OriginCase c = GetParam();
  c.options.scope = "cpu";
  const TrainingModel model =
      build_data_parallel_model(all_ops(), traced_network, c.optimizer, c.options);
  expect_lines_of_this_file(model.step, "step");
  expect_lines_of_this_file(model.init, "init");
  expect_lines_of_this_file(model.inference, "inference");
  if (c.options.replicas == 2)
    expect_lines_of_this_file(partition(model, {.rank = 1, .processes = 2}).step,
                              "step of the second process");
}
INSTANTIATE_TEST_SUITE_P(Steps, Origin, ::testing::ValuesIn(origin_cases()),
                         [](const auto& info) { return info.param.name; });

TEST(OriginOf, AGradientItsSumItsUpdateAndItsFirstValueIsTheLayer) {
  const TrainingModel model = build_data_parallel_model(
      all_ops(), traced_network, MomentumSgd{.momentum = 0.9F},
      {.replicas = 2, .scope = "cpu", .precision = DType::float16, .all_reduce = by("xring")});
  const std::string line = kThisFile + std::to_string(kConv);
  int found = 0;
  for (const Graph* graph : {&model.step, &model.init})
    for (int index = 0; index < graph->node_count(); ++index) {
      const Node node = graph->node(index);
      if (node.name().find("conv_w") == std::string::npos) continue;
      EXPECT_EQ(node.where(), line) << node.description();
      ++found;
    }
  EXPECT_GT(found, 10);
}

}  // namespace
}  // namespace lockstep::testing
