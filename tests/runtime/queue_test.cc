// SPDX-License-Identifier: Apache-2.0
// Runs on asynchronous devices, with CPU kernels behind queues (queued_cpu.h).
#include <gtest/gtest.h>

#include "lockstep/checkpoint.h"
#include "lockstep/data_parallel.h"
#include "lockstep/operators.h"
#include "lockstep/session.h"
#include "lockstep/session_options.h"
#include "runtime/state/replica_divergence.h"
#include "runtime/state/session_members.h"
#include "runtime/threads/parallel.h"
#include "tests/support/expect_error.h"
#include "tests/support/queued_cpu.h"
#include "tests/support/step_feeds.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/threads.h"

namespace lockstep::testing {
namespace {

// Runs six steps, some of them recorded. Returns the state.
StateValues trained_on(const TrainingModel& model, const std::vector<Device>& devices) {
  Session session(model, devices, queued_kernels(), {5, 1, {}});
  session.initialise();
  StepFeeds feeds(model, 24, 5, kSmall);
  for (int64_t step = 0; step < 6; ++step) {
    session.step().run(feeds.at(step, 0.05F), session.run_options(static_cast<uint64_t>(step)));
    EXPECT_EQ(find_divergence(session), "");
  }
  return session.save();
}

TEST(Queues, TrainingGivesTheBitsOfTheCpu) {
  for (int replicas : {1, 2, 3, 8})
    for (const char* spec : {"collective", "xring", "rechd", "psgpu#2"}) {
      if (replicas == 1 && std::string(spec) == "psgpu#2") continue;
      SCOPED_TRACE(join(spec, " on ", replicas));
      DataParallelOptions options{.all_reduce = {.spec = parse_all_reduce(spec)}};
      options.all_reduce.packing = parse_packing("ready:100:1k");
      const TrainingModel model = small_mlp(replicas, MomentumSgd{}, options);
      const StateValues expected = trained_on(model, cpu_devices(replicas));
      EXPECT_TRUE(trained_on(model, gpu_devices(replicas)) == expected);
      EXPECT_TRUE(trained_on(model, parse_devices(join("gpu:3*", replicas))) == expected)
          << "all on one";
    }
}

TEST(Queues, AStepIsNotRecordedWhereRecordIsFalse) {
  const TrainingModel model = small_mlp(2);
  auto trained = [&](bool record) {
    Session session(model, gpu_devices(2), queued_kernels(), {5, 1, {.record = record}});
    session.initialise();
    StepFeeds feeds(model, 24, 5, kSmall);
    const int before = recordings_made();
    for (uint64_t step = 0; step < 4; ++step)
      session.step().run(feeds.at(static_cast<int64_t>(step), 0.05F), session.run_options(step));
    return std::pair{recordings_made() - before, session.save()};
  };
  const auto [recorded, with] = trained(true);
  const auto [unrecorded, without] = trained(false);
  EXPECT_EQ(recorded, 1);
  EXPECT_EQ(unrecorded, 0);
  EXPECT_TRUE(with == without);
}

// Random numbers of a replayed step depend on the current step, not on the recorded step.
TEST(Queues, ARecordingIsToldTheStep) {
  TrainingModel model(all_ops());
  Value x = model.step.input("x", {DType::float32, {1000}});
  Value ratio = model.step.constant("ratio", Literal::scalar(0.5F));
  Value train = model.step.constant("train", Literal::scalar(true));
  model.step.add({.type = "Dropout",
                  .inputs = {x, ratio, train},
                  .attributes = {{"seed", int64_t{3}}},
                  .outputs = 1,
                  .output_names = {"y"}},
                 "dropout");
  model.inputs.push_back({{"x", {"x"}}});
  model.metrics.push_back({"y", {"y"}});
  const std::vector<float> ones(1000, 1);
  auto drawn = [&](const std::vector<Device>& devices) {
    Session session(model, devices, queued_kernels(), {5, 1, {}});
    std::vector<std::vector<float>> all;
    const Literal fed = Literal::of<float>(ones, {1000});
    for (uint64_t step = 0; step < 5; ++step) {
      const Tensor feed[] = {view_of(fed)};
      const Tensor y = session.step().run(feed, session.run_options(step))[0];
      all.emplace_back(y.as<float>(), y.as<float>() + y.count());
    }
    return all;
  };
  const auto on_gpu = drawn(gpu_devices(1));
  EXPECT_EQ(on_gpu, drawn(cpu_devices(1)));
  EXPECT_NE(on_gpu[3], on_gpu[4]);
}

TEST(Queues, CheckpointsGoFromOneKindOfDeviceToTheOther) {
  TemporaryFolder folder;
  const std::string path = folder / "checkpoint.safetensors";
  const TrainingModel model = small_mlp(2);
  Session gpu(model, gpu_devices(2), queued_kernels(), {5, 1, {}});
  gpu.initialise();
  save_checkpoint(gpu, path, {});
  Session cpu(model, cpu_devices(2), queued_kernels(), {6, 1, {}});
  load_checkpoint(cpu, path);
  EXPECT_TRUE(cpu.save() == gpu.save());
}

TEST(Queues, TheFirstValueThatIsNotFiniteIsNamed) {
  const TrainingModel model = small_mlp(2);
  Session session(model, gpu_devices(2), queued_kernels(), {5, 1, {}});
  session.initialise();
  Literal w = states_of(session).read("cpu_1/fc2_w");
  reinterpret_cast<float*>(w.bytes().data())[3] = std::numeric_limits<float>::infinity();
  states_of(session).write("cpu_1/fc2_w", w);
  StepFeeds feeds(model, 8, 5, kSmall);
  RunOptions options = session.run_options(0);
  NotFinite found;
  options.not_finite = &found;
  session.step().run(feeds.at(0, 0.05F), options);
  EXPECT_EQ(found.text.rfind("'cpu_1/fc2' (Gemm on gpu:1): ", 0), 0u) << found.text;
  session.initialise();
  session.step().run(feeds.at(0, 0.05F), options);
  EXPECT_EQ(found.step, -1) << found.text;
}

// An error of the device ends the run; later runs work.
TEST(Queues, WhatAKernelThrowsIsThrown) {
  Graph graph(all_ops());
  Value x = graph.input("x", {DType::float32, {4}});
  Value index = graph.input("index", {DType::int64, {1}});
  graph.add_value({.type = "Gather", .inputs = {x, index}}, "y");
  TrainingModel model(all_ops());
  model.step = std::move(graph);
  model.inputs = {{{"x", {"x"}}}, {{"index", {"index"}}}};
  model.metrics = {{"y", {"y"}}};
  Session session(model, gpu_devices(1), queued_kernels(), {5, 1, {}});
  const std::vector<float> values{1, 2, 3, 4};
  auto gathered = [&](int64_t at) {
    const Literal data = Literal::of<float>(values, {4}), where = Literal::vector({at});
    const Tensor feeds[] = {view_of(data), view_of(where)};
    return *session.step().run(feeds, session.run_options(0))[0].as<float>();
  };
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(gathered(2), 3);
    expect_error([&] { gathered(9); }, "9");
  }
}

TEST(Queues, DevicesThatAreNotThereAreNamed) {
  const TrainingModel model = small_mlp(2);
  expect_error([&] { Session(model, parse_devices("gpu:0,gpu:99"), queued_kernels()); },
               "cannot run on gpu:99: this machine has 16 GPUs");
  expect_error([&] { Session(model, parse_devices("cpu:0,gpu:0"), queued_kernels()).initialise(); },
               "must be of one kind", "cpu:0 and gpu:0");
}

// Several threads copy large feeds to staging memory.
TEST(ParallelCopy, CopiesEveryByteAndNoOther) {
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, (std::size_t{3} << 20U) + 5})
    for (const int threads : {1, usable_threads(3)}) {
      std::vector<unsigned char> from(bytes + 1), to(bytes + 1, 7);
      for (std::size_t i = 0; i < bytes; ++i) from[i] = static_cast<unsigned char>(i * 31 + 1);
      parallel_copy(to.data(), from.data(), bytes, threads);
      EXPECT_EQ(to[bytes], 7);
      to.back() = from.back();
      EXPECT_TRUE(to == from) << bytes << " bytes, " << threads << " threads";
    }
}

}  // namespace
}  // namespace lockstep::testing
