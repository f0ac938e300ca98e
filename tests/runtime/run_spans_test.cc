// SPDX-License-Identifier: Apache-2.0
// The times that executors record of a run.
#include "runtime/exec/run_spans.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>

#include "lockstep/session_options.h"
#include "runtime/nanoseconds.h"
#include "runtime/plan/makers.h"
#include "runtime/plan/step_phases.h"
#include "runtime/state/session_members.h"
#include "tests/support/expect_error.h"
#include "tests/support/queued_cpu.h"
#include "tests/support/step_feeds.h"

namespace lockstep::testing {
namespace {

class Recorder final : public RunRecorder {
 public:
  RunSpans* begin_run() override { return &runs.emplace_back(); }
  std::deque<RunSpans> runs;
};

// Runs steps, the later ones with a recorder. Returns the runs and the final state.
struct Recorded {
  std::deque<RunSpans> runs;
  StateValues state;
};
Recorded recorded_runs(const TrainingModel& model, const std::vector<Device>& devices,
                       const std::vector<KernelTable>& kernels, bool records) {
  Session session(model, devices, kernels, {5, 1, {}});
  session.initialise();
  StepFeeds feeds(model, 24, 5, kSmall);
  Recorder recorder;
  for (uint64_t step = 0; step < 6; ++step) {
    session.members().recorder = records && step >= 3 && step < 5 ? &recorder : nullptr;
    session.step().run(feeds.at(static_cast<int64_t>(step), 0.05F), session.run_options(step));
  }
  return {std::move(recorder.runs), session.save()};
}

// A step begins when all steps that it waits for have ended, and a worker runs one step at a time.
// `error`: of the clocks of different queues.
void expect_in_order(const RunSpans& run, int64_t error) {
  const Plan& plan = *run.plan;
  ASSERT_EQ(run.steps.size(), plan.steps.size());
  EXPECT_LT(run.begins, run.ends);
  for (const Worker& worker : plan.workers) {
    int64_t before = run.begins - error;
    for (const int number : worker.steps) {
      const StepSpan& span = run.steps[number];
      EXPECT_LE(before, span.waits);
      EXPECT_LE(span.waits, span.begins);
      EXPECT_LE(span.begins, span.ends);
      before = span.ends;
      for (const Wait& wait : plan.steps[number].waits) {
        const StepSpan& awaited = run.steps[plan.workers[wait.worker].steps[wait.step]];
        EXPECT_LE(awaited.begins, span.ends + error) << plan.steps[number].name;
        EXPECT_LE(awaited.ends, span.begins + error) << plan.steps[number].name;
      }
    }
    EXPECT_LE(before, run.ends + error);
  }
}

// A worker counts a step as finished only after it has read the clock, so order holds exactly.
TEST(RunSpans, OnCpusAreInTheOrderOfThePlan) {
  for (int replicas : {1, 2, 3}) {
    const TrainingModel model = small_mlp(replicas);
    const Recorded with = recorded_runs(model, cpu_devices(replicas), all_kernels(), true);
    ASSERT_EQ(with.runs.size(), 2U);
    for (const RunSpans& run : with.runs) {
      expect_in_order(run, 0);
      EXPECT_EQ(run.model, &model);
      EXPECT_EQ(run.device_error, 0);
      EXPECT_FALSE(run.is_unrecorded);
    }
    EXPECT_EQ(with.runs[0].step, 3U);
    EXPECT_TRUE(with.state ==
                recorded_runs(model, cpu_devices(replicas), all_kernels(), false).state);
  }
}

// Steps whose times are recorded launch every kernel; the steps around them replay a recording.
TEST(RunSpans, OnQueuesAreTimesOfTheDevice) {
  for (int replicas : {1, 2}) {
    const TrainingModel model = small_mlp(replicas);
    const int before = recordings_made();
    const Recorded with = recorded_runs(model, gpu_devices(replicas), queued_kernels(), true);
    EXPECT_EQ(recordings_made() - before, 1);
    ASSERT_EQ(with.runs.size(), 2U);
    for (const RunSpans& run : with.runs) {
      EXPECT_GT(run.device_error, 0);
      EXPECT_LT(run.device_error, 1'000'000'000);
      expect_in_order(run, 2 * run.device_error);
      EXPECT_TRUE(run.is_unrecorded);
      int64_t longest = 0;
      for (const StepSpan& span : run.steps) longest = std::max(longest, span.ends - span.begins);
      EXPECT_GT(longest, 0);
    }
    EXPECT_TRUE(with.state ==
                recorded_runs(model, gpu_devices(replicas), queued_kernels(), false).state);
  }
}

TEST(RunSpans, OfARunThatFailsHaveNoEnd) {
  const TrainingModel model = small_mlp(1);
  Session session(model, cpu_devices(1), all_kernels(), {5, 1, {}});
  session.initialise();
  Recorder recorder;
  session.members().recorder = &recorder;
  StepFeeds feeds(model, 24, 5, kSmall);
  std::vector<Tensor> wrong(feeds.at(0, 0.05F).begin(), feeds.at(0, 0.05F).end());
  std::vector<int64_t> labels(24, 77);
  for (Tensor& tensor : wrong)
    if (tensor.desc.dtype == DType::int64) tensor.data = labels.data();
  expect_error([&] { session.step().run(wrong, session.run_options(0)); }, "77");
  ASSERT_EQ(recorder.runs.size(), 1U);
  EXPECT_EQ(recorder.runs[0].ends, 0);
}

// The time that the busiest replica waited is no longer than the run.
TEST(RunSpans, ASessionSumsUpItsRuns) {
  const TrainingModel model = small_mlp(2);
  Session session(model, cpu_devices(2), all_kernels(), {5, 1, {}});
  session.initialise();
  const RunTotals& totals = session.members().totals;
  const RunTotals before = totals;
  StepFeeds feeds(model, 24, 5, kSmall);
  const int64_t begins = nanoseconds_now();
  for (uint64_t step = 0; step < 5; ++step)
    session.step().run(feeds.at(static_cast<int64_t>(step), 0.05F), session.run_options(step));
  const double passed = static_cast<double>(nanoseconds_now() - begins) * 1e-9;
  EXPECT_GT(totals.seconds, before.seconds);
  EXPECT_LE(totals.seconds - before.seconds, passed);
  EXPECT_GE(totals.waited, before.waited);
  EXPECT_LE(totals.waited - before.waited, totals.seconds - before.seconds);
}

const Plan& plan_of_step(Session& session, StepFeeds& feeds) {
  return plan_of(session.step(), feeds.at(0, 0.05F));
}

TEST(Makers, OfAReduceAreTheGradientsOfAllReplicas) {
  const TrainingModel model = small_mlp(2);
  Session session(model, cpu_devices(2), all_kernels(), {5, 1, {}});
  session.initialise();
  StepFeeds feeds(model, 24, 5, kSmall);
  const Plan& plan = plan_of_step(session, feeds);
  const auto makers = makers_of_steps(plan);
  const auto users = users_of_steps(makers);
  const std::vector<Phase> phases = phases_of(plan, model);
  int reduces = 0, updates = 0;
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    if (plan.steps[i].type != "AllReduce") continue;
    ++reduces;
    EXPECT_EQ(phases[i], Phase::reduce);
    std::vector<int> workers;
    for (const int maker : makers[i]) {
      EXPECT_EQ(phases[maker], Phase::backward) << plan.steps[maker].name;
      EXPECT_LT(maker, static_cast<int>(i));
      workers.push_back(plan.steps[maker].worker);
    }
    EXPECT_EQ(workers, (std::vector<int>{0, 1})) << plan.steps[i].name;
    ASSERT_FALSE(users[i].empty());
    for (const int user : users[i]) {
      EXPECT_EQ(phases[user], Phase::update) << plan.steps[user].name;
      ++updates;
    }
  }
  EXPECT_GE(reduces, 4);  // of four parameters; a sum that one replica needs has one part
  EXPECT_GE(updates, reduces);
  for (const Phase phase : {Phase::forward, Phase::backward})
    EXPECT_NE(std::ranges::find(phases, phase), phases.end());
}

// A view has no step of its own: its reader's maker is the maker of its source.
TEST(Makers, SeeThroughViews) {
  const TrainingModel model = small_lenet(1);
  Session session(model, cpu_devices(1), all_kernels(), {5, 1, {}});
  session.initialise();
  StepFeeds feeds(model, 8, 5, {1, 28, 28});
  const Plan& plan = plan_of_step(session, feeds);
  ASSERT_GT(plan.views, 0);
  const auto makers = makers_of_steps(plan);
  std::vector<bool> fed(plan.slots.size(), false);
  for (const int slot : plan.feeds)
    if (slot >= 0) fed[slot] = true;
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const bool reads_values = std::ranges::any_of(plan.steps[i].in, [&](int slot) {
      return slot >= 0 && plan.slots[slot].storage == Storage::in_arena && !fed[slot];
    });
    EXPECT_TRUE(!reads_values || !makers[i].empty()) << plan.steps[i].name;
  }
}

}  // namespace
}  // namespace lockstep::testing
