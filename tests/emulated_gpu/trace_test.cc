// SPDX-License-Identifier: Apache-2.0
// Traces of emulated GPUs: times by the device's events, and the recordings around them.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "app/trace/recorder.h"
#include "app/trace/trace_file.h"
#include "lockstep/operators.h"
#include "tests/support/queued_cpu.h"
#include "tests/support/step_feeds.h"

namespace lockstep::testing {
namespace {

// Trains six steps and traces the fourth and the fifth.
std::pair<StateValues, RankTrace> traced_on_gpus(const TrainingModel& model, bool traces) {
  Session session(model, gpu_devices(model.replicas), all_kernels(), {5, 1, {}});
  session.initialise();
  StepFeeds feeds(model, 24, 5, kSmall);
  std::unique_ptr<TraceRecorder> recorder;
  RankTrace trace;
  for (int64_t step = 0; step < 6; ++step) {
    if (traces && step == 3)
      recorder = std::make_unique<TraceRecorder>(session, nullptr, RecorderOptions{});
    if (recorder) recorder->begin_iteration(step + 1);
    session.step().run(feeds.at(step, 0.05F), session.run_options(static_cast<uint64_t>(step)));
    if (!recorder) continue;
    recorder->end_iteration(24);
    if (step < 4) continue;
    trace = recorder->end();
    recorder.reset();
  }
  return {session.save(), std::move(trace)};
}

TEST(EmulatedTrace, OfTwoGpusHasTheBitsOfARunWithoutATrace) {
  const TrainingModel model = small_mlp(2);
  const int before = recordings_made();
  const auto [traced, trace] = traced_on_gpus(model, true);
  EXPECT_EQ(recordings_made() - before, 1) << "the steps before and after replay one recording";
  EXPECT_TRUE(traced == traced_on_gpus(model, false).first);
  EXPECT_TRUE(trace.is_unrecorded);
  EXPECT_GT(trace.device_error, 0);
  const auto file = nlohmann::json::parse(text_of_trace({trace}, {"", {4, 5}}));
  EXPECT_TRUE(file.at("otherData").contains("unrecorded"));
  for (const char* name : {"gpu:0", "gpu:1"}) {
    const auto row = std::ranges::find(trace.rows, name, &TraceRow::name);
    ASSERT_NE(row, trace.rows.end()) << name;
    int64_t computing = 0;
    for (const TraceSlice& slice : row->slices)
      if (trace.labels[slice.label].facts.size() > 1) computing += slice.ends - slice.begins;
    EXPECT_GT(computing, 0) << "the device's clock stands still";
  }
  EXPECT_FALSE(trace.arrows.empty());
}

}  // namespace
}  // namespace lockstep::testing
