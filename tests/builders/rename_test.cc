// SPDX-License-Identifier: Apache-2.0
// A step with renamed values and nodes.
#include "graph/passes/rename.h"

#include <gtest/gtest.h>

#include "graph/verify.h"
#include "tests/support/expect_error.h"
#include "tests/support/step_feeds.h"

namespace lockstep::testing {
namespace {

std::vector<std::string> inputs_of(const Graph& graph) {
  std::vector<std::string> names;
  for (Value input : graph.inputs()) names.push_back(graph.name(input));
  return names;
}

TEST(Rename, ReachesEveryPlaceOfAName) {
  const TrainingModel plain = small_mlp(2);
  const State& state = plain.states.back();
  const std::string weight = state.values[1], loss = plain.losses[0].values[0];
  const std::string updated = plain.updates[0].value, gradient = plain.gradients[0].values[1];
  const NewNames names{.values = {{weight, "W"}, {loss, "L"}, {updated, "U"}, {gradient, "G"}},
                       .nodes = {{0, "the first node"}},
                       .first = {state.values[0], weight}};
  const TrainingModel model = renamed(small_mlp(2), names);
  verify(model);
  EXPECT_EQ(model.states.back().values, (std::vector<std::string>{state.values[0], "W"}));
  EXPECT_EQ(model.states.back().name, state.name) << "checkpoints use the name";
  EXPECT_EQ(model.losses[0].values[0], "L");
  EXPECT_EQ(model.updates[0].value, "U");
  EXPECT_EQ(model.gradients[0].values[1], "G");
  EXPECT_EQ(model.step.node(0).name(), "the first node");
  const auto declared = inputs_of(model.step);
  EXPECT_EQ(std::vector<std::string>(declared.begin(), declared.begin() + 2),
            (std::vector<std::string>{state.values[0], "W"}));
  for (const std::string& old : {weight, loss, updated, gradient}) {
    EXPECT_TRUE(plain.step.find(old)) << old;
    EXPECT_FALSE(model.step.find(old)) << old;
  }
  EXPECT_EQ(model.step.node_count(), plain.step.node_count());
  const auto trained = train(model, 12, 3, {1, 6, 6}), expected = train(plain, 12, 3, {1, 6, 6});
  for (std::size_t i = 0; i < plain.states.size(); ++i)
    for (std::size_t k = 0; k < 2; ++k)
      EXPECT_EQ(trained.at(model.states[i].values[k]), expected.at(plain.states[i].values[k]))
          << plain.states[i].name;
}

TEST(Rename, RefusesNamesThatAreMissingOrTaken) {
  const TrainingModel plain = small_mlp(2);
  const std::string first = plain.states[0].values[0], second = plain.states[0].values[1];
  const auto refused = [](const NewNames& names, const auto&... parts) {
    expect_error([&] { renamed(small_mlp(2), names); }, parts...);
  };
  refused({.values = {{"none", "x"}}, .nodes = {}}, "'none'");
  refused({.values = {}, .nodes = {}, .first = {"none"}}, "'none'");
  const int end = plain.step.node_count();
  for (int node : {-1, end})
    refused({.values = {}, .nodes = {{node, "x"}}}, join("cannot call node ", node, " 'x'"),
            join("nodes 0 to ", end - 1));
  refused({.values = {{first, second}}, .nodes = {}}, "already has a value named", second);
  refused({.values = {{first, "x"}, {second, "x"}}, .nodes = {}}, "already has a value named 'x'");
}

}  // namespace
}  // namespace lockstep::testing
