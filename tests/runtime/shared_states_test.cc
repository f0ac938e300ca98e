// SPDX-License-Identifier: Apache-2.0
// Parameters that replicas share give the bits and files of separate parameters.
#include <gtest/gtest.h>

#include <set>

#include "builders/all_reduce/packing.h"
#include "builders/all_reduce/spec.h"
#include "graph/file.h"
#include "lockstep/checkpoint.h"
#include "lockstep/data_parallel.h"
#include "lockstep/optimizers.h"
#include "lockstep/processes.h"
#include "runtime/plan/plan.h"
#include "runtime/state/replica_divergence.h"
#include "runtime/state/session_members.h"
#include "tests/support/ranks.h"
#include "tests/support/sharing_training.h"
#include "tests/support/temporary_folder.h"

namespace lockstep::testing {
namespace {

using Setting = SharingSetting;
using Training = SharingTraining;

TrainingModel network_of(bool convolves, const DataParallelOptions& options,
                         const Optimizer& optimizer) {
  return convolves ? small_residual(options, optimizer)
                   : small_mlp(options.replicas, optimizer, options);
}

struct Way {
  std::string name;
  DataParallelOptions options = {};
  Setting setting = {};
  bool shares = true;  // of parameters
};

std::vector<Way> ways() {
  return {
      {"two", {.replicas = 2}},
      {"three of two threads", {.replicas = 3}, {.threads = 2}},
      {"six", {.replicas = 6}},
      {"not fused", {.replicas = 2}, {.fused = false}},
      {"micro-batches", {.replicas = 2, .micro_batches = 2}},
      {"deferred", {.replicas = 2, .deferred = true}},
      {"skips", {.replicas = 2, .skip_non_finite = true}},
      {"clipped", {.replicas = 3, .clip = {.norm = 0.5F}}},
      {"frozen", {.replicas = 2, .frozen = {"pred_b", "*1_w"}}},
      {"bfloat16", {.replicas = 2, .precision = DType::bfloat16}},
      {"bfloat16, frozen",
       {.replicas = 3, .frozen = {"pred_b", "*1_w"}, .precision = DType::bfloat16}},
      {"bfloat16, not fused", {.replicas = 2, .precision = DType::bfloat16}, {.fused = false}},
      {"bfloat16, deferred, micro-batches",
       {.replicas = 2, .micro_batches = 2, .deferred = true, .precision = DType::bfloat16}},
      {"float16, skips", {.replicas = 2, .skip_non_finite = true, .precision = DType::float16}},
      {"two rings", {.replicas = 3, .all_reduce = {.spec = parse_all_reduce("xring#2")}}},
      {"to the first and back",
       {.replicas = 3, .all_reduce = {.spec = parse_all_reduce("simple")}}},
      {"halving and doubling, not fused",
       {.replicas = 4, .all_reduce = {.spec = parse_all_reduce("rechd")}},
       {.fused = false}},
      {"by size, in buckets",
       {.replicas = 3,
        .all_reduce = {.spec = parse_all_reduce("pscpu:1k:hierarchical_copy"),
                       .packing = parse_packing("ready:1k:8k"),
                       .pieces = 2}}},
      // More copies mean more roundings of the sums.
      {"rings of 16 bits",
       {.replicas = 3, .all_reduce = {.spec = parse_all_reduce("xring"), .wire = DType::float16}},
       {},
       false}};
}

TEST(SharedStates, GiveTheBitsOfStatesOfEachReplica) {
  for (const Way& way : ways())
    for (const bool convolves : {false, true})
      for (const bool adam : {false, true}) {
        SCOPED_TRACE(
            join(way.name, convolves ? ", convolutions" : ", products", adam ? ", Adam" : ""));
        const Optimizer optimizer = adam ? Optimizer(Adam{}) : Optimizer(MomentumSgd{});
        const TrainingModel model = network_of(convolves, way.options, optimizer);
        Training shared(model, true, way.setting), apart(model, false, way.setting);
        shared.run(0, 4);
        apart.run(0, 4);
        EXPECT_TRUE(shared.session.save() == apart.session.save());
        EXPECT_EQ(find_divergence(shared.session), "");
        EXPECT_EQ(shared.are_one(model.states.front().name), way.shares);
      }
}

TEST(SharedStates, OfEachOfSeveralProcessesHaveTheSameBits) {
  for (const std::string spec : {"collective", "pscpu/pscpu", "nccl/xring", "simple", "xring"})
    for (const DType precision : {DType::float32, DType::bfloat16}) {
      SCOPED_TRACE(join(spec, " in ", precision));
      const TrainingModel whole =
          small_residual({.replicas = 4,
                          .precision = precision,
                          .all_reduce = {.spec = parse_all_reduce(spec), .processes = 2}});
      run_ranks(2, [&](Comm& comm) {
        const TrainingModel model = partition(whole, {comm.rank(), 2});
        const Setting setting{.comm = &comm, .all_replicas = 4};
        Training shared(model, true, setting), apart(model, false, setting);
        shared.run(0, 3);
        apart.run(0, 3);
        EXPECT_TRUE(shared.session.save() == apart.session.save());
        // The contents of a message are never equal to a local value. "simple" sends the second
        // process a message for each replica. In a ring, a part that one replica computed returns
        // to another replica as a message.
        const bool shares = spec == "simple" ? comm.rank() == 0 : spec != "xring";
        EXPECT_EQ(shared.are_one(model.states.front().name), shares);
      });
    }
}

TEST(SharedStates, LieInOneMemoryUnlessEachReplicaComputesItsOwn) {
  const TrainingModel model = small_residual({.replicas = 2});
  Training shared(model, true), apart(model, false);
  shared.run(0, 1);
  apart.run(0, 1);
  int computed = 0;
  for (const State& state : model.states) {
    computed += state.kind == StateKind::computed;
    EXPECT_EQ(shared.are_one(state.name), state.kind != StateKind::computed) << state.name;
    EXPECT_FALSE(apart.are_one(state.name)) << state.name;
  }
  EXPECT_GT(computed, 0);
}

// The bytes of new states that each worker computes.
std::vector<std::size_t> updated_bytes(const Plan& plan) {
  std::vector<std::size_t> bytes(plan.workers.size(), 0);
  std::set<int> seen;
  for (const PlanStep& step : plan.steps)
    for (const int slot : step.out) {
      if (slot < 0) continue;
      const Slot& made = plan.slots[static_cast<std::size_t>(slot)];
      if (made.storage != Storage::in_state ||
          made.index >= static_cast<int>(plan.session_states()))
        continue;
      EXPECT_TRUE(seen.insert(made.index).second) << made.name << " is computed twice";
      bytes[static_cast<std::size_t>(step.worker)] += made.desc.bytes();
    }
  return bytes;
}

TEST(SharedStates, AreUpdatedOnceAndInEqualPartsByAllReplicas) {
  for (const int replicas : {2, 3}) {
    const TrainingModel model = small_residual({.replicas = replicas});
    Training shared(model, true), apart(model, false);
    const std::vector<std::size_t> parts = updated_bytes(shared.plan()),
                                   whole = updated_bytes(apart.plan());
    const auto [least, most] = std::ranges::minmax_element(parts);
    EXPECT_GT(*least, whole[0] / static_cast<std::size_t>(2 * replicas));
    EXPECT_LT(*most, 2 * whole[0] / static_cast<std::size_t>(replicas));
    for (const PlanStep& step : shared.plan().steps)
      EXPECT_NE(step.type, "CopyToState") << step.name;
    EXPECT_LT(shared.plan().steps.size(), apart.plan().steps.size());
  }
}

TEST(SharedStates, AreSeparatedByAValueForOneReplica) {
  for (const std::string changed : {"cpu_0/fc1_w", "cpu_1/fc1_w"}) {
    const TrainingModel model = small_mlp(2);
    Training shared(model, true), apart(model, false);
    for (Training* training : {&shared, &apart}) {
      training->run(0, 2);
      Literal value = states_of(training->session).read(changed);
      states_of(training->session).write(changed, value);  // the old value again
      EXPECT_EQ(find_divergence(training->session), "");
      reinterpret_cast<float*>(value.bytes().data())[1] += 1;
      states_of(training->session).write(changed, value);
      EXPECT_EQ(find_divergence(training->session), "'cpu_1/fc1_w' differs from 'cpu_0/fc1_w'");
      training->run(2, 4);
      EXPECT_NE(find_divergence(training->session), "");
    }
    EXPECT_FALSE(shared.are_one("fc1_w"));
    EXPECT_TRUE(shared.are_one("fc1_b"));
    EXPECT_TRUE(shared.session.save() == apart.session.save());
  }
}

TEST(SharedStates, StayTogetherWhenAllReplicasAreLoaded) {
  const TemporaryFolder folder;
  const TrainingModel model = small_residual({.replicas = 2, .precision = DType::bfloat16});
  Training whole(model, true), resumed(model, true), late(model, true), apart(model, false);
  whole.run(0, 2);
  save_checkpoint(whole.session, folder / "shared", {});
  late.run(0, 5);
  const int moves = states_of(late.session).moves();
  for (Training* training : {&resumed, &late, &apart})
    load_checkpoint(training->session, folder / "shared");
  EXPECT_EQ(states_of(late.session).moves(), moves);
  for (Training* training : {&whole, &resumed, &late, &apart}) training->run(2, 4);
  for (Training* training : {&resumed, &late, &apart})
    EXPECT_TRUE(training->session.save() == whole.session.save());
  save_checkpoint(whole.session, folder / "shared", {});
  save_checkpoint(apart.session, folder / "apart", {});
  EXPECT_EQ(read_file(folder / "shared"), read_file(folder / "apart"));
}

TEST(SharedStates, AreOneAgainAfterInitialValues) {
  const TrainingModel model = small_mlp(2);
  Training shared(model, true), apart(model, false);
  for (Training* training : {&shared, &apart}) {
    training->run(0, 2);
    Literal value = states_of(training->session).read("cpu_1/pred_b");
    reinterpret_cast<float*>(value.bytes().data())[0] = 9;
    states_of(training->session).write("cpu_1/pred_b", value);
    training->run(2, 3);
    training->session.initialise();
    training->run(0, 2);
  }
  EXPECT_TRUE(shared.are_one("pred_b"));
  EXPECT_TRUE(shared.session.save() == apart.session.save());
}

// Each replica then has its own rate, as if it had its own parameters.
TEST(SharedStates, AreSeparatedByDifferentRates) {
  const float rates[] = {0.05F, 0.5F};
  for (const bool other_program : {false, true}) {
    const TrainingModel model = small_mlp(2);
    Training shared(model, true), apart(model, false);
    for (Training* training : {&shared, &apart}) {
      training->run(0, 2);
      std::span<const Tensor> fed = training->feeds.at(2, 0.05F);
      std::vector<Tensor> feeds(fed.begin(), fed.end());
      for (std::size_t i = 0; i < feeds.size(); ++i)
        for (std::size_t k = 0; k < 2; ++k)
          if (model.feed_values()[i] == join("cpu_", k, "/lr"))
            feeds[i].data = const_cast<float*>(&rates[k]);
      const auto other = training->session.program(model.step, model.feed_values(),
                                                   model.fetch_values(), model.updates);
      Program& program = other_program ? *other : training->session.step();
      program.run(feeds, training->session.run_options(2));
      EXPECT_NE(find_divergence(training->session), "");
      training->run(3, 5);
    }
    EXPECT_TRUE(shared.session.save() == apart.session.save());
  }
}

}  // namespace
}  // namespace lockstep::testing
