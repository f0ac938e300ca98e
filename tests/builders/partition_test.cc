// SPDX-License-Identifier: Apache-2.0
// A step over several processes gives the bits of a single process.

#include <gtest/gtest.h>

#include <mutex>

#include "graph/auxiliaries.h"
#include "graph/verify.h"
#include "lockstep/data_parallel.h"
#include "lockstep/operators.h"
#include "lockstep/processes.h"
#include "tests/support/expect_error.h"
#include "tests/support/ranks.h"
#include "tests/support/step_feeds.h"
#include "tests/support/sums.h"

namespace lockstep::testing {
namespace {

// Trains for five steps. Returns each process's part of the final state.
StateValues train_over(const TrainingModel& whole, int processes, int64_t batch) {
  StateValues all;
  std::mutex mutex;
  run_ranks(processes, [&](Comm& comm) {
    const TrainingModel part = partition(whole, {comm.rank(), comm.size()});
    Session session(part, cpu_devices(part.replicas), all_kernels(), {5, 1, {}, &comm});
    session.initialise();
    StepFeeds feeds(part, batch, 5, {1, 6, 6}, whole.replicas);
    for (uint64_t step = 0; step < 5; ++step)
      session.step().run(feeds.at(static_cast<int64_t>(step), 0.05F), session.run_options(step));
    std::lock_guard lock(mutex);
    for (auto& [name, value] : session.save()) all.emplace(name, std::move(value));
  });
  return all;
}

TEST(Partition, TrainingGivesTheSameBitsOverProcesses) {
  for (const char* spec : {"xring", "rechd", "psgpu#2", "bcube"}) {
    DataParallelOptions options{.all_reduce = {.spec = parse_all_reduce(spec)}};
    options.all_reduce.packing = parse_packing("ready:100:1k");
    const TrainingModel whole = small_mlp(4, MomentumSgd{}, options);
    const StateValues expected = train(whole, 16, 5, {1, 6, 6});
    for (int processes : {2, 4})
      EXPECT_TRUE(train_over(whole, processes, 16) == expected) << spec << " " << processes;
  }
  // Deferred gradients stay on the replicas that made them.
  const TrainingModel deferred = small_mlp(
      4, MomentumSgd{}, {.deferred = true, .all_reduce = {.spec = parse_all_reduce("xring")}});
  EXPECT_TRUE(train_over(deferred, 2, 16) == train(deferred, 16, 5, {1, 6, 6})) << "deferred";
  const TrainingModel whole = small_mlp(4);
  EXPECT_TRUE(train_over(whole, 4, 16) == train(whole, 16, 5, {1, 6, 6}))
      << "collective, one replica each";
}

TEST(Partition, PartsAreValidModels) {
  DataParallelOptions options{.all_reduce = {.spec = parse_all_reduce("xring")}};
  for (int rank : {0, 1}) verify(partition(small_mlp(3, MomentumSgd{}, options), {rank, 2}));
  for (int rank : {0, 1}) verify(partition(small_mlp(3), {rank, 2}));
}

TEST(Partition, RefusesWhatCannotBeShared) {
  const TrainingModel whole = small_mlp(2);
  expect_error(
      [&] {
        partition(whole, {0, 3});
      },
      "2 replicas", "over 3 processes", "build the step for 3 or more");
  for (const auto& [rank, processes] : {std::pair{2, 2}, {-1, 2}, {0, 0}})
    expect_error([&, share = ProcessShare{rank, processes}] { partition(whole, share); },
                 join("rank ", rank, " of ", processes,
                      " processes: a rank should be at least 0 and below the number of processes"));
  const TrainingModel of_three =
      sum_model({.spec = parse_all_reduce("nccl/xring"), .processes = 3}, 6, 8);
  for (int rank : {0, 1})
    expect_error(
        [&] {
          partition(of_three, {rank, 2});
        },
        "its group of 2 of 6 replicas is on several of 2 processes");
  TrainingModel torn =
      sum_model({.spec = parse_all_reduce("psgpu#2"), .processes = 2, .auxiliaries = 1}, 4, 8);
  set_auxiliaries(torn, 1);
  expect_error(
      [&] {
        partition(torn, {0, 2});
      },
      "1 auxiliary devices cannot be divided equally over 2 processes; build the step for");
  set_auxiliaries(torn, 0);
  expect_error(
      [&] {
        partition(torn, {0, 2});
      },
      "a node is on device 4, but the step has 4 replicas",
      "0 auxiliary devices; build the step again");
}

// Messages start as soon as their value exists, and nodes that only follow a message do not precede
// computation.
TEST(Partition, ReplicasComputeWhileMessagesTravel) {
  DataParallelOptions options{.all_reduce = {.spec = parse_all_reduce("xring")}};
  const TrainingModel part = partition(small_mlp(2, MomentumSgd{}, options), {1, 2});
  const Graph& step = part.step;
  auto at = [&](const std::string& name) { return step.producer(step.at(name))->index(); };
  EXPECT_GT(at("cpu_1/pred_w_grad_sum"), at("cpu_1/fc1_w_grad"));
  EXPECT_GT(at("cpu_1/pred_w_new"), at("cpu_1/fc1_w_grad"));
  int first_recv = step.node_count();
  for (int i = step.node_count() - 1; i >= 0; --i)
    if (step.node(i).type() == "Recv") first_recv = i;
  EXPECT_LT(first_recv, at("cpu_1/fc1_w_grad"));
}

}  // namespace
}  // namespace lockstep::testing
