// SPDX-License-Identifier: Apache-2.0
// The fixed part of plans of small graphs: its nodes and their cached results.
#include <gtest/gtest.h>

#include <array>
#include <limits>

#include "lockstep/operators.h"
#include "lockstep/session_options.h"
#include "runtime/exec/executor.h"
#include "runtime/exec/states.h"
#include "runtime/exec/workers.h"
#include "runtime/plan/compile.h"
#include "runtime/plan/plan.h"
#include "tests/support/expect_error.h"

namespace lockstep::testing {
namespace {

// x [4, 4] is fed; w [4, 4] and v [4, 4] are states.
struct Small {
  Graph graph{all_ops()};
  Value x = graph.input("x", {DType::float32, {4, 4}});
  Value w = graph.input("w", {DType::float32, {4, 4}});
  Value v = graph.input("v", {DType::float32, {4, 4}});
};

CompileRequest request_of(const Small& small, std::vector<std::string> fetches,
                          std::vector<Binding> updates = {}, const CompileOptions& options = {}) {
  return {.graph = small.graph,
          .feeds = {"x"},
          .feed_dims = {{4, 4}},
          .fetches = std::move(fetches),
          .states = {"w", "v"},
          .updates = std::move(updates),
          .devices = cpu_devices(1),
          .kernels = all_kernels(),
          .options = options};
}

std::vector<std::string> names(const std::vector<PlanStep>& steps) {
  std::vector<std::string> names;
  for (const PlanStep& step : steps) names.push_back(step.name);
  return names;
}
std::vector<std::string> kept_in(const Plan& plan) {
  return {plan.states.begin() + static_cast<std::ptrdiff_t>(plan.session_states()),
          plan.states.end()};
}
using Names = std::vector<std::string>;

// Runs the plan twice and changes `w` in between.
std::vector<std::vector<float>> run_around_a_change(Plan plan, std::size_t guard_bytes = 0) {
  States states({"w", "v"}, {{DType::float32, {4, 4}}, {DType::float32, {4, 4}}});
  Literal value(DType::float32, {4, 4});
  const auto set = [&](const std::string& name, float from) {
    std::vector<float> values(16);
    for (std::size_t i = 0; i < 16; ++i) values[i] = from - static_cast<float>(i);
    states.write(name, Literal::of<float>(values, {4, 4}));
  };
  set("w", 9);
  set("v", 5);
  std::vector<float> x(16, 0.5F);
  const std::vector<Tensor> feeds{{{DType::float32, {4, 4}}, x.data()}};
  Workers workers(1, 1);
  const auto executor = make_executor(std::move(plan), states, workers);
  std::vector<std::vector<float>> results;
  for (const float from : {9.0F, 3.0F, 3.0F}) {
    if (from == 3.0F && results.size() == 1) set("w", from);
    executor->run(feeds, {});
    std::vector<float> all;
    for (const Tensor& fetched : executor->fetches())
      all.insert(all.end(), fetched.as<float>(), fetched.as<float>() + fetched.count());
    if (guard_bytes > 0) executor->check_guards(guard_bytes);
    results.push_back(all);
  }
  EXPECT_NE(results[0], results[1]);
  EXPECT_EQ(results[1], results[2]);
  return results;
}

// Only the end of a chain is cached. Intermediate values are in the arena.
TEST(FixedPlans, ChainsKeepTheirEndsAlone) {
  Small small;
  const Value a = add(small.graph, small.w, small.v, "a");
  const Value b = sigmoid(small.graph, a, "b");
  const Value c = mul(small.graph, b, a, "c");
  const Value d = relu(small.graph, small.x, "d");
  mul(small.graph, d, c, "y");
  const Plan plan = compile(request_of(small, {"y"}));
  EXPECT_EQ(names(plan.refresh), (Names{"a", "b", "c"}));
  EXPECT_EQ(kept_in(plan), Names{"c"});
  EXPECT_EQ(names(plan.steps), (Names{"d", "y"}));
  std::vector<std::vector<float>> expected;
  for (const bool alias : {true, false})
    for (const bool reuse : {true, false}) {
      CompileOptions options{.reuse_memory = reuse, .alias = alias, .guard_bytes = 64};
      const auto results = run_around_a_change(compile(request_of(small, {"y"}, {}, options)), 64);
      if (expected.empty()) expected = results;
      EXPECT_EQ(results, expected);
    }
}

// A view shares the memory of its operand: the state, or a cached value.
TEST(FixedPlans, ViewsAreNotCopied) {
  Small small;
  const Value flat = reshape(small.graph, small.w, {16}, "flat");
  const Value a = sigmoid(small.graph, flat, "a");
  const Value square = reshape(small.graph, a, {4, 4}, "square");
  const Value turned = reshape(small.graph, small.v, {4, 4}, "turned");
  mul(small.graph, add(small.graph, small.x, square, "sum"), turned, "y");
  const Plan plan = compile(request_of(small, {"y"}));
  EXPECT_EQ(names(plan.refresh), Names{"a"});
  EXPECT_EQ(kept_in(plan), Names{"a"});
  EXPECT_EQ(plan.views, 3);
  const auto expected = run_around_a_change(compile(request_of(small, {"y"})));
  EXPECT_EQ(run_around_a_change(compile(request_of(small, {"y"}, {}, {.alias = false}))), expected);
}

// A view with both kinds of readers runs in every run, and so do its readers.
TEST(FixedPlans, ViewsThatAllReadStay) {
  Small small;
  const Value a = sigmoid(small.graph, small.w, "a");
  const Value square = reshape(small.graph, a, {4, 4}, "square");
  const Value b = add(small.graph, square, small.v, "b");
  mul(small.graph, add(small.graph, small.x, square, "sum"), b, "y");
  for (const bool alias : {true, false}) {
    Plan plan = compile(request_of(small, {"y"}, {}, {.alias = alias}));
    EXPECT_EQ(names(plan.refresh), Names{"a"});
    run_around_a_change(std::move(plan));
  }
}

// `b` must run, since it reads the view `turned`. Then `square` has no fixed reader left.
TEST(FixedPlans, ViewsWhoseLastFixedReaderStaysAreNotCopied) {
  Small small;
  const Value a = sigmoid(small.graph, small.w, "a");
  const Value square = reshape(small.graph, a, {4, 4}, "square");
  const Value c = sigmoid(small.graph, small.v, "c");
  const Value turned = reshape(small.graph, c, {4, 4}, "turned");
  const Value b = add(small.graph, square, turned, "b");
  mul(small.graph, add(small.graph, small.x, turned, "sum"), b, "y");
  Plan plan = compile(request_of(small, {"y"}));
  EXPECT_EQ(kept_in(plan), (Names{"a", "c"}));
  EXPECT_EQ(plan.views, 2);
  run_around_a_change(std::move(plan));
}

TEST(FixedPlans, MayBeFetchedAndBecomeAState) {
  Small small;
  const Value a = sigmoid(small.graph, small.w, "a");
  const Value b = sigmoid(small.graph, a, "b");
  add(small.graph, small.x, b, "y");
  Plan plan = compile(request_of(small, {"a", "y", "b"}, {{"v", "a"}}));
  EXPECT_EQ(names(plan.refresh), (Names{"a", "b"}));
  EXPECT_EQ(kept_in(plan), (Names{"a", "b"}));
  run_around_a_change(std::move(plan));
}

TEST(FixedPlans, IsNothingOfAStateThatThePlanChanges) {
  Small small;
  const Value a = sigmoid(small.graph, small.w, "a");
  add(small.graph, small.x, a, "y");
  add(small.graph, small.v, small.x, "v_new");
  EXPECT_EQ(names(compile(request_of(small, {"y"}, {{"v", "v_new"}})).refresh), Names{"a"});
  EXPECT_TRUE(compile(request_of(small, {"y"}, {{"w", "v_new"}})).refresh.empty());
}

// Random numbers differ from run to run. A large result of a small state does not justify its
// memory. A plan without feeds runs once.
TEST(FixedPlans, IsNeitherRandomNorLargeNorOfAPlanThatIsFedNothing) {
  Small small;
  const Value share = small.graph.constant("share", Literal::scalar(0.5F));
  const Value trains = small.graph.constant("trains", Literal::of<bool>(std::array{true}, {}));
  const Value noise =
      small.graph.add_value({.type = "Dropout", .inputs = {small.w, share, trains}}, "noise");
  const Value rows = small.graph.constant("rows", Literal::vector({100, 4, 4}));
  const Value large = small.graph.add_value({.type = "Expand", .inputs = {small.w, rows}}, "large");
  const Value a = add(small.graph, noise, small.w, "a");
  add(small.graph, add(small.graph, a, large, "b"), small.x, "y");
  EXPECT_TRUE(compile(request_of(small, {"y"})).refresh.empty());
  sigmoid(small.graph, small.v, "z");
  EXPECT_EQ(names(compile(request_of(small, {"y", "z"})).refresh), Names{"z"});
  CompileRequest unfed = request_of(small, {"z"});
  unfed.feeds = {};
  unfed.feed_dims = {};
  EXPECT_TRUE(compile(unfed).refresh.empty());
}

TEST(FixedPlans, ErrorsLeaveItStale) {
  Graph graph(all_ops());
  const Value x = graph.input("x", {DType::float32, {4}});
  const Value table = graph.input("table", {DType::float32, {4}});
  const Value places = graph.input("places", {DType::int64, {4}});
  const Value taken = graph.add_value({.type = "Gather", .inputs = {table, places}}, "taken");
  add(graph, x, taken, "y");
  States states({"table", "places"}, {{DType::float32, {4}}, {DType::int64, {4}}});
  Workers workers(1, 1);
  const auto executor = make_executor(compile({.graph = graph,
                                               .feeds = {"x"},
                                               .feed_dims = {{4}},
                                               .fetches = {"y"},
                                               .states = {"table", "places"},
                                               .devices = cpu_devices(1),
                                               .kernels = all_kernels()}),
                                      states, workers);
  ASSERT_EQ(names(executor->plan().refresh), Names{"taken"});
  std::vector<float> fed(4, 1);
  const std::vector<Tensor> feeds{{{DType::float32, {4}}, fed.data()}};
  executor->run(feeds, {});
  states.write("places", Literal::vector({0, 1, 2, 4}));
  for (int run = 0; run < 2; ++run)  // a failed run leaves it stale
    expect_error([&] { executor->run(feeds, {}); }, "Gather", "index 4");
  states.write("places", Literal::vector({0, 1, 2, 3}));
  executor->run(feeds, {});
}

// The search for values that are not finite skips intended infinities, even of a mask that is
// computed once.
TEST(FixedPlans, InfinitiesOfMasksAreIntended) {
  Small small;
  std::vector<float> hidden(16, 0);
  hidden[3] = -std::numeric_limits<float>::infinity();
  const Value mask = small.graph.constant("mask", Literal::of<float>(hidden, {4, 4}));
  const Value a = add(small.graph, small.w, mask, "a");
  const Value b = relu(small.graph, add(small.graph, a, small.v, "b"), "c");
  const Value sum = add(small.graph, add(small.graph, small.x, a, "d"), b, "e");
  small.graph.add_value({.type = "Softmax", .inputs = {sum}}, "y");
  States states({"w", "v"}, {{DType::float32, {4, 4}}, {DType::float32, {4, 4}}});
  Workers workers(1, 1);
  const auto executor = make_executor(compile(request_of(small, {"y"})), states, workers);
  ASSERT_EQ(names(executor->plan().refresh), (Names{"a", "b", "c"}));
  std::vector<float> x(16, 0.5F);
  const std::vector<Tensor> feeds{{{DType::float32, {4, 4}}, x.data()}};
  NotFinite found;
  executor->run(feeds, {.context = {}, .not_finite = &found});
  EXPECT_EQ(found.step, -1) << found.text;
  hidden[3] = std::numeric_limits<float>::quiet_NaN();
  states.write("w", Literal::of<float>(hidden, {4, 4}));
  executor->run(feeds, {.context = {}, .not_finite = &found});
  EXPECT_NE(found.text.find("'d' (Add on cpu:0): nan"), std::string::npos) << found.text;
}

}  // namespace
}  // namespace lockstep::testing
