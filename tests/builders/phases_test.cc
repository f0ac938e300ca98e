// SPDX-License-Identifier: Apache-2.0
// The phases of a step, for every way to build one.
#include "graph/phases.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "graph/print.h"
#include "lockstep/operators.h"
#include "lockstep/optimizers.h"
#include "tests/support/networks.h"
#include "tests/support/step_feeds.h"

namespace lockstep::testing {
namespace {

struct PhasedStep {
  std::string name;
  DataParallelOptions options;
};
void PrintTo(const PhasedStep& step, std::ostream* out) { *out << step.name; }

std::vector<PhasedStep> phased_steps() {
  const auto reduced = [](const char* spec) {
    DataParallelOptions options{.replicas = 4};
    options.all_reduce.spec = parse_all_reduce(spec);
    return options;
  };
  return {{"one", {}},
          {"four", {.replicas = 4}},
          {"micro_batches", {.replicas = 2, .micro_batches = 2}},
          {"deferred", {.replicas = 2, .deferred = true}},
          {"clipped", {.replicas = 2, .clip = {.norm = 1}}},
          {"clipped_before", {.replicas = 2, .clip = {.each_norm = 1, .before_reduce = true}}},
          {"skipping", {.replicas = 2, .skip_non_finite = true}},
          {"bfloat16", {.replicas = 2, .precision = DType::bfloat16}},
          {"synchronised", {.replicas = 2, .synchronised_batch_norm = true}},
          {"ring", reduced("xring")},
          {"halving", reduced("rechd")},
          {"servers", reduced("pscpu")}};
}

class PhasesOfSteps : public ::testing::TestWithParam<PhasedStep> {};
INSTANTIATE_TEST_SUITE_P(EveryStep, PhasesOfSteps, ::testing::ValuesIn(phased_steps()),
                         [](const auto& tested) { return tested.param.name; });

bool is_named(const std::string& name, const std::string& end) {
  return name.size() >= end.size() && name.compare(name.size() - end.size(), end.size(), end) == 0;
}

TEST_P(PhasesOfSteps, FollowFromTheGraph) {
  const TrainingModel model = small_bn_net(GetParam().options.replicas, GetParam().options);
  const std::vector<Phase> phases = phases_of(model);
  const Graph& graph = model.step;
  ASSERT_EQ(phases.size(), static_cast<std::size_t>(graph.node_count()));
  std::map<Phase, int> count;
  for (int i = 0; i < graph.node_count(); ++i) {
    const Node node = graph.node(i);
    const Phase phase = phases[i];
    ++count[phase];
    SCOPED_TRACE(join(node.description(), " is ", name_of(phase)));
    const Op& op = *node.op();
    if (op.collective || op.copies) {
      EXPECT_EQ(phase, Phase::reduce);
    }
    if (node.domain() == kOwnDomain && is_named(node.type(), "Grad")) {
      EXPECT_EQ(phase, Phase::backward);
    }
    if (node.domain() == kOwnDomain && is_named(node.type(), "Update")) {
      EXPECT_EQ(phase, Phase::update);
    }
    for (const char* type : {"Conv", "BatchNormTrain", "SoftmaxCrossEntropyLoss"})
      if (node.type() == type) {
        EXPECT_EQ(phase, Phase::forward);
      }
    // The order of phases: no later phase feeds an earlier one.
    for (const Value input : node.inputs()) {
      const auto producer = input ? graph.producer(input) : std::nullopt;
      if (!producer) continue;
      const Phase before = phases[producer->index()];
      if (phase == Phase::forward) {
        EXPECT_TRUE(before == Phase::forward || before == Phase::reduce) << node.name();
      } else if (phase == Phase::backward || phase == Phase::reduce) {
        EXPECT_NE(before, Phase::update);
      }
    }
  }
  EXPECT_GT(count[Phase::forward], 0);
  EXPECT_GT(count[Phase::backward], 0);
  EXPECT_GT(count[Phase::update], 0);
  EXPECT_EQ(count[Phase::reduce] > 0, model.replicas > 1);
}

// With a gradient for each parameter, a reduce is nothing but collectives; a ring is copies, sums,
// and the moves of pieces around them.
TEST(Phases, OfAReduceAreItsSteps) {
  const auto types = [](const DataParallelOptions& options) {
    const TrainingModel model = small_mlp(options.replicas, MomentumSgd{}, options);
    const std::vector<Phase> phases = phases_of(model);
    std::set<std::string> found;
    for (int i = 0; i < model.step.node_count(); ++i)
      if (phases[i] == Phase::reduce) found.insert(model.step.node(i).type());
    return found;
  };
  EXPECT_EQ(types({.replicas = 4}), (std::set<std::string>{"AllReduce"}));
  DataParallelOptions ring{.replicas = 4};
  ring.all_reduce.spec = parse_all_reduce("xring");
  const std::set<std::string> of_ring = types(ring);
  EXPECT_TRUE(of_ring.contains("Copy") && of_ring.contains("Add")) << of_ring.size();
  for (const std::string& type : of_ring)
    EXPECT_TRUE((std::set<std::string>{"Copy", "Add", "Sum", "Split", "Concat", "Reshape",
                                       "Flatten", "Identity"}
                     .contains(type)))
        << type;
}

TEST(Phases, OfAPredictionAreForward) {
  TrainingModel model(all_ops());
  const Value x = model.inference.input("x", {DType::float32, {2, 3}});
  model.inference.output(relu(model.inference, x, Site("y")));
  EXPECT_EQ(phases_of(model), std::vector<Phase>{Phase::forward});
  EXPECT_EQ(&main_graph(model), &model.inference);
}

}  // namespace
}  // namespace lockstep::testing
