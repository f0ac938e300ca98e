// SPDX-License-Identifier: Apache-2.0
// The figures of a model, its page and its document, also of hostile models.
#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <sstream>

#include "app/inspect/figures.h"
#include "app/inspect/graph_json.h"
#include "app/inspect/plan_json.h"
#include "app/inspect/requests.h"
#include "app/inspect/summary.h"
#include "graph/dot.h"
#include "graph/printable.h"
#include "lockstep/layers.h"
#include "lockstep/models.h"
#include "lockstep/operators.h"
#include "lockstep/optimizers.h"
#include "tests/support/networks.h"
#include "tests/support/step_feeds.h"

namespace lockstep::testing {
namespace {

SourcedModel sourced(TrainingModel model, int64_t rows_of_each) {
  SourcedModel source{LoadedModel{std::move(model)}, RunSettings{.devices = {}, .threads = 1}, {}};
  source.shares = {.batch = rows_of_each * source.model.replicas,
                   .replicas = source.model.replicas};
  return source;
}

// A fully connected layer of 36 x 16 on 3 rows: 1,728 products. Its gradient by the weight has as
// many; the first layer needs none by the data.
TEST(Figures, AreThoseOfEachReplica) {
  for (const int replicas : {1, 2, 3}) {
    const SourcedModel source = sourced(small_mlp(replicas), 3);
    const ModelFigures figures = figures_of(source);
    ASSERT_EQ(figures.replicas.size(), static_cast<std::size_t>(replicas));
    EXPECT_EQ(figures.why_open, "");
    EXPECT_EQ(figures.open_nodes, 0);
    for (const ReplicaFigures& replica : figures.replicas) {
      constexpr double kWeights = 36 * 16 + 16 * 12 + 12 * 5, kBiases = 16 + 12 + 5;
      EXPECT_EQ(replica.examples, 3);
      EXPECT_EQ(replica.parameters, kWeights + kBiases);
      EXPECT_EQ(replica.parameter_bytes, 4 * (kWeights + kBiases));
      EXPECT_EQ(replica.state_bytes, 8 * (kWeights + kBiases)) << "with momentum";
      EXPECT_EQ(replica.of(Phase::forward).products, 2 * 3 * kWeights);
      EXPECT_EQ(replica.of(Phase::backward).products, 2 * 3 * (2 * kWeights - 36 * 16));
      EXPECT_EQ(replica.of(Phase::update).products, 0);
      EXPECT_GT(replica.of(Phase::update).others, kWeights);
      EXPECT_EQ(replica.reduced_bytes, replicas == 1 ? 0 : replica.parameter_bytes);
      EXPECT_EQ(replica.messages, replicas == 1 ? 0 : 6) << "one for each parameter";
      // relu1 and relu2; their operands are not read again, nor the flattened images.
      EXPECT_GE(replica.activation_bytes, 4 * 3 * (16 + 12));
      EXPECT_EQ(replica, figures.replicas[0]);
    }
  }
}

TEST(Figures, OfUnequalSharesDiffer) {
  SourcedModel source = sourced(small_mlp(2), 3);
  source.shares.batch = 7;
  const ModelFigures figures = figures_of(source);
  EXPECT_EQ(figures.replicas[0].examples, 3);
  EXPECT_EQ(figures.replicas[1].examples, 4);
  EXPECT_LT(figures.replicas[0].of(Phase::forward).products,
            figures.replicas[1].of(Phase::forward).products);
  const std::string page = summary_of(source, figures, looked_at(source), false);
  EXPECT_NE(page.find("replica 0, 3 examples\n"), page.npos) << page;
  EXPECT_NE(page.find("replica 1, 4 examples\n"), page.npos) << page;
}

TEST(Figures, PeakMemoryIsThePlans) {
  const SourcedModel source = sourced(small_lenet(2), 5);
  const LookedAt seen = looked_at(source);
  ASSERT_TRUE(seen.plan) << seen.why;
  std::size_t arenas = 0, states = 0;
  for (int worker : {0, 1}) {
    const PlannedMemory memory = planned_memory(*seen.plan, worker);
    arenas += memory.arenas;
    states += memory.states;
  }
  EXPECT_EQ(arenas, seen.memory.arenas);
  EXPECT_EQ(states, seen.memory.states);
  const std::string page = summary_of(source, figures_of(source), seen, false);
  EXPECT_NE(page.find("each of 2 replicas, 5 examples\n"), page.npos) << page;
  EXPECT_NE(page.find("memory       of a plan for 2 devices, cpu:0 first: " + text_of(seen.memory)),
            page.npos)
      << page;
}

TEST(Figures, AStepWithoutFreeMemoryIsLookedAtNevertheless) {
  setenv("LOCKSTEP_MEMORY", "64K", 1);
  const SourcedModel source = sourced(small_lenet(1), 64);
  const LookedAt seen = looked_at(source);
  unsetenv("LOCKSTEP_MEMORY");
  EXPECT_FALSE(seen.plan) << "a single value is larger";
  EXPECT_NE(seen.why.find("LOCKSTEP_MEMORY"), seen.why.npos) << seen.why;
  const std::string page = summary_of(source, figures_of(source), seen, false);
  EXPECT_NE(page.find("memory       no plan: "), page.npos) << page;
}

// y = ReLU(ReLU(..x)); the names of all nodes begin with this name.
TrainingModel chain(int nodes, const std::string& name) {
  TrainingModel model(all_ops());
  Graph& graph = model.inference;
  Value at = graph.input("x", {DType::float32, {"N", 4}});
  for (int i = 0; i < nodes; ++i) at = relu(graph, at, Site(join(name, i)));
  graph.output(at);
  return model;
}

struct Shown {
  std::string page, document, picture, plan;
};
Shown shown(const SourcedModel& source) {
  const ModelFigures figures = figures_of(source);
  const LookedAt seen = looked_at(source);
  std::ostringstream document, plan;
  write_json(document, source, figures, seen);
  if (seen.plan) write_json(plan, *seen.plan, seen.memory);
  return {summary_of(source, figures, seen, true), document.str(),
          dot_of(source.model.inference, {.depth = 1}), plan.str()};
}

TEST(HostileModelOnAPage, NamesAreNoCodes) {
  const std::string name = "a\x1b[2J\r</script><script>alert(1)</script>\"\\\xff\u202e";
  const Shown made = shown(sourced(chain(30, name), 2));
  for (const std::string& text : {made.page, made.document, made.picture, made.plan}) {
    ASSERT_FALSE(text.empty());
    EXPECT_EQ(first_control(text, "\n"), "") << text.substr(0, 2000);
  }
  const auto document = nlohmann::json::parse(made.document),
             plan = nlohmann::json::parse(made.plan);
  EXPECT_EQ(document["nodes"].size(), 30u);
  EXPECT_EQ(document["nodes"][0]["name"].get<std::string>().substr(0, 5), "a\x1b[2J");
  EXPECT_EQ(plan["schema"], "lockstep.plan/1");
}

TEST(HostileModelOnAPage, LongNamesAreCut) {
  const Shown made = shown(sourced(chain(40, std::string(1 << 20, 'n')), 2));
  EXPECT_LT(made.page.size(), 40000u);
  EXPECT_LT(made.picture.size(), 40000u);
  // The document has each name as often as the graph: of a node, and of its result.
  EXPECT_LT(made.document.size(), 2 * 45u << 20);
  const Shown deep = shown(sourced(chain(3,
                                         [] {
                                           std::string name;
                                           for (int i = 0; i < 100000; ++i) name += "a/";
                                           return name + "b";
                                         }()),
                                   2));
  EXPECT_LT(nlohmann::json::parse(deep.document)["scopes"].size(), 30u);
}

TEST(HostileModelOnAPage, ManyNodesTakeLinearTime) {
  const auto began = std::chrono::steady_clock::now();
  const Shown made = shown(sourced(chain(100000, "part/layer_1_relu"), 2));
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(60));
  EXPECT_NE(made.page.find("a graph of 100000 nodes is planned by `lockstep plan` only"),
            made.page.npos);
  EXPECT_LT(made.picture.size(), 10000u) << "folded";
  EXPECT_EQ(made.plan, "");
}

}  // namespace
}  // namespace lockstep::testing
