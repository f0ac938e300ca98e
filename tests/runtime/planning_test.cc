// SPDX-License-Identifier: Apache-2.0
// Memory, aliases and waits: guarantees of a plan before it runs.
#include <gtest/gtest.h>

#include <algorithm>

#include "lockstep/operators.h"
#include "lockstep/random.h"
#include "lockstep/session_options.h"
#include "runtime/exec/executor.h"
#include "runtime/exec/states.h"
#include "runtime/exec/workers.h"
#include "runtime/plan/compile.h"
#include "runtime/plan/offsets.h"
#include "runtime/plan/plan.h"
#include "runtime/state/session_members.h"
#include "tests/support/expect_error.h"
#include "tests/support/step_feeds.h"

namespace lockstep::testing {
namespace {

TEST(PlanOffsets, NeverOverlapInTimeAndMemory) {
  PhiloxSequence random(3, 3);
  for (int round = 0; round < 20; ++round) {
    std::vector<Lifetime> items;
    for (int i = 0; i < 60; ++i) {
      int first = static_cast<int>(random.below(50));
      items.push_back({static_cast<std::size_t>(random.below(1000)), first,
                       first + static_cast<int>(random.below(10))});
    }
    Offsets plan = plan_offsets(items);
    for (std::size_t a = 0; a < items.size(); ++a) {
      EXPECT_EQ(plan.offset[a] % 64, 0u);
      EXPECT_LE(plan.offset[a] + items[a].bytes, plan.total);
      for (std::size_t b = 0; b < a; ++b) {
        bool in_time = items[a].first <= items[b].last && items[b].first <= items[a].last;
        bool in_memory = plan.offset[a] < plan.offset[b] + items[b].bytes &&
                         plan.offset[b] < plan.offset[a] + items[a].bytes;
        EXPECT_FALSE(in_time && in_memory);
      }
    }
  }
}

// The planner sweeps through time and tracks the live values. Comparing all pairs would take too
// long.
TEST(PlanOffsets, ThousandsNeverOverlapAndStayNearTheLowerBound) {
  PhiloxSequence random(3, 4);
  std::vector<Lifetime> items;
  for (int i = 0; i < 30000; ++i) {
    const int first = static_cast<int>(random.below(20000));
    items.push_back({static_cast<std::size_t>(random.below(5)) * 1000, first,
                     first + static_cast<int>(random.below(i % 50 == 0 ? 3000 : 10))});
  }
  const Offsets plan = plan_offsets(items);
  std::vector<std::size_t> order(items.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return items[a].first < items[b].first; });
  std::vector<std::size_t> alive;
  for (std::size_t at : order) {
    std::erase_if(alive, [&](std::size_t other) { return items[other].last < items[at].first; });
    for (std::size_t other : alive)
      ASSERT_FALSE(plan.offset[at] < plan.offset[other] + items[other].bytes &&
                   plan.offset[other] < plan.offset[at] + items[at].bytes);
    ASSERT_EQ(plan.offset[at] % 64, 0U);
    ASSERT_LE(plan.offset[at] + items[at].bytes, plan.total);
    alive.push_back(at);
  }
  EXPECT_LE(static_cast<double>(plan.total), 1.3 * static_cast<double>(most_alive(items)));
}

TEST(PlanOffsets, ComesNearTheLowerBound) {
  // A forward and backward pass of ten layers. Activations are live until their gradient is
  // computed.
  std::vector<Lifetime> items;
  for (int layer = 0; layer < 10; ++layer) {
    std::size_t bytes = 64 * (1 + (layer * 37) % 11);
    items.push_back({bytes, layer, 20 - layer});        // activation
    items.push_back({bytes, 19 - layer, 20 - layer});   // gradient
    items.push_back({64 * 9, layer, layer});            // forward workspace
    items.push_back({64 * 9, 20 - layer, 20 - layer});  // backward workspace
  }
  EXPECT_LE(static_cast<double>(plan_offsets(items).total),
            1.1 * static_cast<double>(most_alive(items)));
}

TEST(PlanOffsets, ReusesWhatIsFree) {
  EXPECT_EQ(plan_offsets({{64, 0, 1}, {64, 2, 3}, {64, 4, 5}}).total, 64u);
  EXPECT_EQ(plan_offsets({{64, 0, 1}, {64, 1, 2}, {64, 2, 3}}).total, 128u);
  EXPECT_EQ(separate_offsets({{64, 0, 1}, {10, 2, 3}}).total, 128u);
}

Plan plan_of(const Graph& graph, std::vector<std::string> fetches,
             const CompileOptions& options = {}) {
  return compile({.graph = graph,
                  .feeds = {"x"},
                  .feed_dims = {{4, 4}},
                  .fetches = std::move(fetches),
                  .devices = cpu_devices(1),
                  .kernels = all_kernels(),
                  .options = options});
}

TEST(Compile, ViewsCostNothingAndDyingOperandsAreOverwritten) {
  Graph graph(all_ops());
  Value x = graph.input("x", {DType::float32, {4, 4}});
  Value y = relu(graph, reshape(graph, relu(graph, x, "a"), {16}, "b"), "c");
  Plan plan = plan_of(graph, {graph.name(y)});
  EXPECT_EQ(plan.steps.size(), 2u);
  EXPECT_EQ(plan.views, 1);
  EXPECT_EQ(plan.in_place, 2);
  EXPECT_NE(text_of(plan).find("; 1 view, 2 values in place\n"), std::string::npos);
  EXPECT_EQ(plan.workers[0].arena_bytes, 64u);
  EXPECT_EQ(plan_of(graph, {"c"}, {.alias = false}).steps.size(), 3u);
}

// The feed is copied into the state after all nodes, although the last reader runs earlier.
TEST(Compile, AFeedThatAStateTakesIsNotOverwritten) {
  Graph graph(all_ops());
  const Value x = graph.input("x", {DType::float32, {4, 4}});
  graph.input("v", {DType::float32, {4, 4}});
  const Value a = sigmoid(graph, x, "a");
  const Value b = sigmoid(graph, a, "b");
  mul(graph, add(graph, b, a, "c"), a, "y");
  for (const bool alias : {true, false}) {
    States states({"v"}, {{DType::float32, {4, 4}}});
    std::vector<float> fed(16, 0.5F);
    const std::vector<Tensor> feeds{{{DType::float32, {4, 4}}, fed.data()}};
    Workers workers(1, 1);
    const auto executor = make_executor(compile({.graph = graph,
                                                 .feeds = {"x"},
                                                 .feed_dims = {{4, 4}},
                                                 .fetches = {"y"},
                                                 .states = {"v"},
                                                 .updates = {{"v", "x"}},
                                                 .devices = cpu_devices(1),
                                                 .kernels = all_kernels(),
                                                 .options = {.alias = alias}}),
                                        states, workers);
    executor->run(feeds, {});
    EXPECT_EQ(states.read("v"), Literal::of<float>(fed, {4, 4})) << "alias " << alias;
  }
}

TEST(Compile, AnOperandThatIsStillNeededIsNotOverwritten) {
  Graph graph(all_ops());
  Value x = graph.input("x", {DType::float32, {4, 4}});
  Value a = relu(graph, x, "a");
  sub(graph, sigmoid(graph, a, "b"), a, "c");
  Plan plan = plan_of(graph, {"c", "a"});
  auto block = [&](const std::string& name) {
    for (const Slot& slot : plan.slots)
      if (slot.name == name) return slot.index;
    return -1;
  };
  EXPECT_NE(block("a"), block("b"));
  EXPECT_NE(block("a"), block("c"));
}

TEST(Compile, PrunesAndFolds) {
  Graph graph(all_ops());
  Value x = graph.input("x", {DType::float32, {4, 4}});
  Value two = graph.constant("two", Literal::scalar(2.0F));
  Value four = mul(graph, two, two, "four");
  mul(graph, x, four, "y");
  sigmoid(graph, x, "unused");
  Plan plan = plan_of(graph, {"y"});
  ASSERT_EQ(plan.steps.size(), 1u);
  EXPECT_EQ(plan.steps[0].type, "Mul");
  EXPECT_EQ(plan.literals.size(), 1u);
}

TEST(Compile, NamesWhatIsMissing) {
  Graph graph(all_ops());
  Value x = graph.input("x", {DType::float32, {4, 4}});
  graph.input("z", {DType::float32, {4, 4}});
  add(graph, x, graph.at("z"), "y");
  expect_error([&] { plan_of(graph, {"y"}); }, "input 'z' is neither fed nor state");
  expect_error([&] { plan_of(graph, {"w"}); }, "no value 'w'");
  Graph integers(all_ops());
  relu(integers, integers.input("x", {DType::int32, {4, 4}}), "r");
  expect_error([&] { plan_of(integers, {"r"}); }, "r (Relu", "int32");
  const std::vector<KernelTable> only_cpu{all_kernels().front()};
  expect_error(
      [&] {
        compile({.graph = graph,
                 .feeds = {"x", "z"},
                 .feed_dims = {{4, 4}, {4, 4}},
                 .fetches = {"y"},
                 .devices = {{DeviceKind::gpu, 0}},
                 .kernels = only_cpu});
      },
      "cannot run on gpu:0: it has no GPU kernels; `make build` adds them");
}

TEST(Compile, WhatNoMemoryHoldsIsRefusedByName) {
  Graph graph(all_ops());
  Value x = graph.input("x", {DType::float32, {"N", 1024}});
  graph.output(relu(graph, add(graph, x, x, "sum"), "y"));
  auto plan = [&](int64_t batch) {
    return compile({.graph = graph,
                    .feeds = {"x"},
                    .feed_dims = {{batch, 1024}},
                    .fetches = {"y", "x"},
                    .devices = cpu_devices(1),
                    .kernels = all_kernels()});
  };
  expect_error([&] { plan(int64_t{1} << 40); }, "float32[1099511627776,1024] needs 4 PiB");
  setenv("LOCKSTEP_MEMORY", "1M", 1);
  expect_error([&] { plan(257); }, "float32[257,1024] needs 1 MiB", "allowed by LOCKSTEP_MEMORY");
  // Each value fits, but the live values together do not.
  expect_error([&] { plan(256); }, "the plan of graph", "largest value is", "needs 2 MiB");
  EXPECT_EQ(plan(16).workers.size(), 1U);
  unsetenv("LOCKSTEP_MEMORY");
}

// A plan's private states are outside the arena.
TEST(Compile, WhatAPlanKeepsCountsAsMemory) {
  Graph graph(all_ops());
  const Value x = graph.input("x", {DType::float32, {1024, 1024}});
  const Value w = graph.input("w", {DType::float32, {1024, 1024}});
  graph.output(add(graph, x, relu(graph, w, "kept"), "y"));
  const auto plan = [&] {
    return compile({.graph = graph,
                    .feeds = {"x"},
                    .feed_dims = {{1024, 1024}},
                    .fetches = {"y"},
                    .states = {"w"},
                    .devices = cpu_devices(1),
                    .kernels = all_kernels()});
  };
  const Plan whole = plan();
  ASSERT_EQ(whole.kept.size(), 1U);
  const std::size_t arena = whole.workers[0].arena_bytes, kept = whole.workers[0].cached_bytes;
  EXPECT_EQ(kept, std::size_t{4} << 20);
  setenv("LOCKSTEP_MEMORY", std::to_string(arena + kept - 1).c_str(), 1);
  expect_error(plan, "the plan of graph", "largest value is", "needs ");
  setenv("LOCKSTEP_MEMORY", std::to_string(arena + kept).c_str(), 1);
  EXPECT_NO_THROW(plan());
  unsetenv("LOCKSTEP_MEMORY");
}

TEST(Compile, ArenasTakeAtMostSixtyPercent) {
  struct Case {
    TrainingModel model;
    Dims image;
    int64_t classes, batch;
  };
  std::vector<Case> cases;
  for (int replicas : {1, 2, 4}) {
    cases.push_back({small_lenet(replicas), {1, 28, 28}, 10, 64});
    cases.push_back({small_mlp(replicas), {1, 6, 6}, 5, 64});
  }
  for (Case& c : cases) {
    Session session(c.model, cpu_devices(c.model.replicas), all_kernels(), {1, 1, {}});
    StepFeeds feeds(c.model, c.batch, c.classes, c.image);
    const Plan& plan = plan_of(session.step(), feeds.at(0, 0.1F));
    std::size_t arena = 0;
    for (const Worker& worker : plan.workers) arena += worker.arena_bytes;
    // Compares memory of the graph's tensors. Fusion and shared states remove some tensors, so the
    // rest share less.
    SessionOptions unfused{.seed = 1, .threads = 1};
    unfused.compile.rewrites = unfused.compile.share = false;
    Session apart(c.model, cpu_devices(c.model.replicas), all_kernels(), unfused);
    const std::size_t tensors = plan_of(apart.step(), feeds.at(0, 0.1F)).tensor_bytes;
    EXPECT_LE(static_cast<double>(arena), 0.6 * static_cast<double>(tensors))
        << c.model.replicas << " replicas";
    EXPECT_EQ(std::count_if(plan.steps.begin(), plan.steps.end(),
                            [](const PlanStep& step) { return step.type == "CopyToState"; }),
              0)
        << "state should be updated in place";
  }
}

TEST(Compile, CollectivesComeInOneOrder) {
  TrainingModel model = small_mlp(3);
  Session session(model, cpu_devices(3), all_kernels(), {1, 1, {.share = false}});
  StepFeeds feeds(model, 6, 5, {1, 6, 6});
  const Plan& plan = plan_of(session.step(), feeds.at(0, 0.1F));
  std::vector<std::vector<std::string>> order(3);
  for (int worker = 0; worker < 3; ++worker)
    for (int step : plan.workers[worker].steps)
      if (plan.steps[step].parts > 1) order[worker].push_back(plan.steps[step].name);
  EXPECT_EQ(order[0].size(), 6u);
  EXPECT_EQ(order[0], order[1]);
  EXPECT_EQ(order[0], order[2]);
}

TEST(Compile, WaitsPointBackwards) {
  TrainingModel model = small_lenet(4);
  Session session(model, cpu_devices(4), all_kernels(), {1, 1, {}});
  StepFeeds feeds(model, 8, 10, {1, 28, 28});
  const Plan& plan = plan_of(session.step(), feeds.at(0, 0.1F));
  int waits = 0;
  for (std::size_t step = 0; step < plan.steps.size(); ++step)
    for (const Wait& wait : plan.steps[step].waits) {
      EXPECT_LT(plan.workers[wait.worker].steps[wait.step], static_cast<int>(step));
      ++waits;
    }
  EXPECT_GT(waits, 0);
}

}  // namespace
}  // namespace lockstep::testing
