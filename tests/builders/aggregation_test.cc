// SPDX-License-Identifier: Apache-2.0
// The aggregation test of tf_cnn_benchmarks: variable j of replica i has the gradient n * i + j.
// Every replica must get the sum for every way to pack, cut, narrow, defer and sum gradients.
#include <gtest/gtest.h>

#include <tuple>

#include "lockstep/checkpoint.h"
#include "lockstep/data_parallel.h"
#include "lockstep/operators.h"
#include "operators/collective/collective.h"
#include "runtime/state/session_members.h"
#include "tests/support/expect_error.h"
#include "tests/support/networks.h"
#include "tests/support/step_feeds.h"
#include "tests/support/temporary_folder.h"

namespace lockstep::testing {
namespace {

constexpr int kVariables = 10;
constexpr int64_t kLength = 6;

// The gradient of variable j is its input.
void fed_gradients(Net& net) {
  if (!net.training()) return;
  for (int j = 0; j < kVariables; ++j) {
    Value g = net.input(join("g", j), {DType::float32, {kLength}});
    Value v = net.param(join("v", j), {kLength}, constant(0));
    net.loss(join("loss", j), reduce_sum(net.graph, mul(net.graph, v, g), {0}, false));
  }
}

TrainingModel model_of(int replicas, const AllReduceOptions& reduce, bool deferred) {
  return build_data_parallel_model(all_ops(), fed_gradients, MomentumSgd{.momentum = 0},
                                   {.replicas = replicas,
                                    .scope = "cpu",
                                    .rules = {.weight_decay = 0, .bias_rate_factor = 1},
                                    .weighted = true,
                                    .deferred = deferred,
                                    .all_reduce = reduce});
}

// A step with the gradients n * i + j + `more` and rate 1.
void run_step(Session& session, int replicas, float more) {
  std::vector<std::vector<float>> data;
  std::vector<Tensor> feeds;
  float one = 1;
  for (const Replicated& input : session.model().inputs)
    for (int i = 0; i < replicas; ++i) {
      if (input.name == "loss_weight") {
        feeds.push_back({{DType::float32, {}}, &one});
      } else if (input.name == "lr") {
        feeds.push_back({{DType::float32, {1}}, &one});
      } else {
        const auto j = static_cast<float>(std::stoi(input.name.substr(1)));
        data.emplace_back(kLength, static_cast<float>(replicas * i) + j + more);
        feeds.push_back({{DType::float32, {kLength}}, data.back().data()});
      }
    }
  session.step().run(feeds, session.run_options(0));
}

// The total decrease of variable j, equal on every replica.
float total(const Session& session, int j) {
  const State* state = session.model().find_state(join("v", j));
  const float first = -states_of(session).at(state->values[0]).as<float>()[0];
  for (const std::string& name : state->values)
    for (int64_t i = 0; i < kLength; ++i)
      EXPECT_EQ(-states_of(session).at(name).as<float>()[i], first) << name;
  return first;
}

AllReduceOptions reduce_of(const std::string& spec, int pieces, const std::string& wire) {
  AllReduceOptions reduce{
      .spec = parse_all_reduce(spec), .pieces = pieces, .wire = parse_wire(wire)};
  if (pieces > 1) reduce.packing = parse_packing("ready:1G:1G");
  return reduce;
}

class AggregationOver : public ::testing::TestWithParam<std::tuple<int, const char*>> {};

TEST_P(AggregationOver, ReplicasGivesEachTheSum) {
  const auto [replicas, spec] = GetParam();
  for (int pieces : {1, 3})
    for (const char* wire : {"", "float16"})
      for (bool deferred : {false, true}) {
        SCOPED_TRACE(join(pieces, " pieces, '", wire, "'", deferred ? ", deferred" : ""));
        const TrainingModel model = model_of(replicas, reduce_of(spec, pieces, wire), deferred);
        Session session(model, cpu_devices(replicas), all_kernels(), {1, 1, {}});
        session.initialise();
        std::vector<float> expected(kVariables, 0);
        for (int step = 0; step < 3; ++step) {
          run_step(session, replicas, static_cast<float>(step));
          for (int j = 0; j < kVariables; ++j) {
            const int summed = deferred ? step - 1 : step;
            const int base = replicas == 10 ? 450 + 10 * j : 224 + 8 * j;
            float& so_far = expected[j];
            if (summed >= 0) so_far += static_cast<float>(base + replicas * summed);
            ASSERT_EQ(total(session, j), so_far) << "variable " << j << ", step " << step;
          }
        }
      }
}
INSTANTIATE_TEST_SUITE_P(Specs, AggregationOver,
                         ::testing::Combine(::testing::Values(10, 8),
                                            ::testing::Values("simple", "hierarchical_copy",
                                                              "pscpu", "xring", "nccl/xring",
                                                              "pscpu/pscpu", "collective#2")));

// Deferred gradients are a part of a checkpoint. On another number of replicas their sum would
// differ, so training starts without them.
TEST(Aggregation, WaitingGradientsAreSaved) {
  TemporaryFolder folder;
  const std::string path = folder / "checkpoint.safetensors";
  const TrainingModel two = model_of(2, {}, true), three = model_of(3, {}, true);
  Session first(two, cpu_devices(2), all_kernels(), {1, 1, {}});
  first.initialise();
  run_step(first, 2, 0);
  save_checkpoint(first, path, {});
  run_step(first, 2, 1);
  Session again(two, cpu_devices(2), all_kernels(), {1, 1, {}});
  load_checkpoint(again, path);
  run_step(again, 2, 1);
  EXPECT_TRUE(again.save() == first.save());
  EXPECT_EQ(total(again, 1), 4);
  Session other(three, cpu_devices(3), all_kernels(), {1, 1, {}});
  load_checkpoint(other, path);
  run_step(other, 3, 1);
  EXPECT_EQ(total(other, 1), 0);
  const TrainingModel one = model_of(1, {}, true);
  Session fewer(one, cpu_devices(1), all_kernels(), {1, 1, {}});
  load_checkpoint(fewer, path);
  run_step(fewer, 1, 1);
  EXPECT_EQ(total(fewer, 1), 0);
}

// Every replica's deferred gradients are saved, even if all have the same bits.
TEST(Aggregation, EqualWaitingGradientsAreSavedToo) {
  TemporaryFolder folder;
  const TrainingModel two = model_of(2, {}, true);
  Session session(two, cpu_devices(2), all_kernels(), {1, 1, {}});
  session.initialise();
  for (const State& state : two.states)
    if (state.kind == StateKind::deferred)
      for (const std::string& name : state.values) {
        const Tensor tensor = states_of(session).at(name);
        std::fill_n(tensor.as<float>(), tensor.count(), 3.0F);
      }
  save_checkpoint(session, folder / "checkpoint", {});
  Session again(two, cpu_devices(2), all_kernels(), {1, 1, {}});
  load_checkpoint(again, folder / "checkpoint");
  EXPECT_TRUE(again.save() == session.save());
}

// Also as a separate bucket that is cut into pieces.
TEST(Aggregation, AGradientWithoutElementsIsPassedOn) {
  for (const char* spec : {"collective", "xring"}) {
    const AllReduceOptions reduce{.spec = parse_all_reduce(spec), .pieces = 2};
    const TrainingModel model =
        build_data_parallel_model(all_ops(), small_network("size_zero").model, MomentumSgd{},
                                  {.replicas = 2, .all_reduce = reduce});
    const Graph& step = model.step;
    EXPECT_EQ(step.producer(step.at("gpu_1/nothing_grad_sum"))->type(), "Identity") << spec;
    EXPECT_NE(step.producer(step.at("gpu_1/bias_grad_sum"))->type(), "Identity") << spec;
  }
}

TEST(Aggregation, ABucketHasAtLeastOnePiece) {
  expect_error([] { model_of(2, {.pieces = 0}, false); },
               "the number of pieces should be at least 1, is 0");
}

}  // namespace
}  // namespace lockstep::testing
