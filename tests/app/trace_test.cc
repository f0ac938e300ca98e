// SPDX-License-Identifier: Apache-2.0
// Traces of sessions in this process: the rules of the format, arrows, sums, and ranks whose clocks
// are wrong.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cmath>
#include <mutex>
#include <thread>

#include "app/trace/gathered_traces.h"
#include "app/trace/recorder.h"
#include "app/trace/steps_trace.h"
#include "app/trace/trace_file.h"
#include "graph/file.h"
#include "lockstep/operators.h"
#include "tests/support/expect_error.h"
#include "tests/support/queued_cpu.h"
#include "tests/support/ranks.h"
#include "tests/support/step_feeds.h"
#include "tests/support/trace_rules.h"

namespace lockstep::testing {
namespace {

constexpr int64_t kTraced = 3;  // steps

std::string trace_of(const TrainingModel& model, const std::vector<Device>& devices,
                     const std::vector<KernelTable>& kernels, const Dims& image) {
  Session session(model, devices, kernels, {5, 1, {}});
  session.initialise();
  StepFeeds feeds(model, 24, 5, image);
  const auto step = [&](uint64_t number) {
    session.step().run(feeds.at(static_cast<int64_t>(number), 0.05F), session.run_options(number));
  };
  step(0), step(1);
  TraceRecorder recorder(session, nullptr, {.unit = "images"});
  for (int64_t number = 2; number < 2 + kTraced; ++number) {
    recorder.begin_iteration(number + 1);
    step(static_cast<uint64_t>(number));
    recorder.end_iteration(24);
  }
  const RankTrace trace = recorder.end();
  // Rank 0 gets the same text of another rank.
  EXPECT_EQ(text_of_trace({unpacked(packed(trace))}, {}), text_of_trace({trace}, {}));
  return text_of_trace({trace}, {"a command", {3, 5}});
}

void expect_arrows_of_reduces(const SeenTrace& seen) {
  int reduces = 0;
  for (const auto& [place, row] : seen.rows)
    for (const SeenSlice& slice : row.slices) {
      if (!slice.facts.contains("operator") || slice.category != "reduce") continue;
      ++reduces;
      EXPECT_TRUE(slice.has_arrow_in) << slice.name;
      EXPECT_TRUE(slice.has_arrow_out) << slice.name;
    }
  EXPECT_GT(reduces, 0);
  int from_gradients = 0, to_updates = 0;
  // Each queue's clock is known up to this error.
  const double error = 1e3 * seen.about.at("clocks").at(0).at("device_error_us").get<double>();
  for (const SeenArrow& arrow : seen.arrows) {
    from_gradients +=
        seen.from(arrow).category == "backward" && seen.to(arrow).category == "reduce";
    to_updates += seen.from(arrow).category == "reduce" && seen.to(arrow).category == "update";
    EXPECT_LE(static_cast<double>(seen.from(arrow).ends),
              static_cast<double>(seen.to(arrow).ends) + 2 * error)
        << arrow.name;
  }
  EXPECT_GT(from_gradients, 0);
  EXPECT_GT(to_updates, 0);
}

TEST(Trace, OfReplicasOnCpusHasRowsPhasesArrowsAndCounters) {
  const SeenTrace seen =
      expect_rules(trace_of(small_mlp(2), cpu_devices(2), all_kernels(), kSmall));
  ASSERT_EQ(seen.processes.size(), 1U);
  EXPECT_EQ(seen.processes.at(1).rfind("rank 0 (host ", 0), 0U) << seen.processes.at(1);
  ASSERT_EQ(seen.rows.size(), 3U);
  for (const char* name : {"loop", "cpu:0", "cpu:1"}) EXPECT_NO_THROW(seen.row(1, name));
  for (const char* worker : {"cpu:0", "cpu:1"}) {
    const SeenRow& row = seen.row(1, worker);
    std::vector<std::string> steps;
    std::map<std::string, int> phases;
    for (const SeenSlice& slice : row.slices) {
      if (slice.depth == 0) {
        EXPECT_EQ(slice.category, "step");
        steps.push_back(slice.name);
      } else if (slice.depth == 1 && slice.name == slice.category) {
        ++phases[slice.name];
      } else if (slice.depth == 2 && slice.category != "wait") {
        EXPECT_FALSE(slice.facts.at("operator").get<std::string>().empty());
        EXPECT_FALSE(slice.facts.at("kernel").get<std::string>().empty());
      }
    }
    EXPECT_EQ(steps, (std::vector<std::string>{"step 3", "step 4", "step 5"}));
    for (const char* phase : {"forward", "backward"})
      EXPECT_GE(phases[phase], kTraced) << phase << " on " << worker;
  }
  expect_arrows_of_reduces(seen);
  const SeenRow& loop = seen.row(1, "loop");
  ASSERT_EQ(loop.slices.size(), 2U * kTraced);
  EXPECT_EQ(loop.slices[0].name, "iteration 3");
  EXPECT_EQ(loop.slices[1].name, "step 3");
  EXPECT_EQ(loop.slices[1].depth, 1);
  for (const char* name : {"memory", "images/s"}) {
    const std::vector<double>& values = seen.counters.at({1, name});
    EXPECT_EQ(values.size(), static_cast<std::size_t>(kTraced)) << name;
    for (const double value : values) EXPECT_GT(value, 1) << name;
  }
  EXPECT_EQ(seen.about.at("schema"), "lockstep.trace/1");
  EXPECT_EQ(seen.about.at("command"), "a command");
  EXPECT_FALSE(seen.about.contains("unrecorded"));
  EXPECT_GT(seen.about.at("mean_of_a_step")[0].at("step_ms").get<double>(), 0);
}

TEST(Trace, OfAllReduceAlgorithmsHasArrows) {
  for (const char* spec : {"xring", "rechd", "psgpu#2", "muji"}) {
    SCOPED_TRACE(spec);
    DataParallelOptions options{.all_reduce = {.spec = parse_all_reduce(spec)}};
    options.all_reduce.packing = parse_packing("ready:100:1k");
    const TrainingModel model = small_mlp(4, MomentumSgd{}, options);
    expect_arrows_of_reduces(expect_rules(trace_of(model, cpu_devices(4), all_kernels(), kSmall)));
  }
}

// The gaps between a queue's steps are waits for other queues, or for the host.
TEST(Trace, OfQueuesSaysThatTheRecordingIsNotReplayed) {
  const SeenTrace seen =
      expect_rules(trace_of(small_mlp(2), gpu_devices(2), queued_kernels(), kSmall));
  EXPECT_NE(seen.about.at("unrecorded").get<std::string>().find("replay a recording"),
            std::string::npos);
  EXPECT_GT(seen.about.at("clocks")[0].at("device_error_us").get<double>(), 0);
  for (const char* name : {"gpu:0", "gpu:1", "gpu:0/comm", "gpu:1/comm"}) {
    const SeenRow& row = seen.row(1, name);
    for (const SeenSlice& slice : row.slices) {
      if (slice.depth > 0) continue;
      const auto whole = static_cast<double>(slice.ends - slice.begins);
      EXPECT_NEAR(static_cast<double>(sum_within(row, slice)), whole, 0.03 * whole)
          << name << " " << slice.name;
    }
  }
  expect_arrows_of_reduces(seen);
}

TEST(Trace, WithANameOfAnyBytesIsStillJson) {
  RankTrace trace;
  trace.host = "a\"\\\n\xff";
  trace.labels = {{"</script>\x1b[2J\xc3", TraceKind::forward, {{"k\"ey", "\x80"}}}};
  trace.rows = {{"row", {{0, 5, 9}}}};
  const SeenTrace seen = expect_rules(text_of_trace({trace}, {"x \"y\"", {1, 1}}));
  EXPECT_EQ(seen.row(1, "row").slices[0].ends, 4);
}

TEST(Trace, DamagedOnItsWayIsAnError) {
  RankTrace trace;
  trace.labels = {{"a", TraceKind::wait}};
  trace.rows = {{"row", {{0, 5, 9}}}};
  trace.arrows = {{{0, 0}, {0, 0}}};
  const std::string bytes = packed(trace);
  EXPECT_EQ(packed(unpacked(bytes)), bytes);
  for (std::size_t size : {std::size_t{0}, bytes.size() / 2, bytes.size() - 1})
    expect_error([&] { unpacked(bytes.substr(0, size)); }, "the trace that another rank sent");
  trace.arrows = {{{0, 0}, {0, 1}}};
  expect_error([&] { unpacked(packed(trace)); }, "a slice that does not exist");
  trace.arrows = {};
  trace.rows[0].slices[0].label = 1;
  expect_error([&] { unpacked(packed(trace)); }, "a label that does not exist");
}

// Each rank marks a moment on its loop's row. The moments are known, because all ranks run on one
// host.
TEST(Trace, OfRanksWithWrongClocksIsOnOneClock) {
  constexpr int64_t kMillisecond = 1'000'000;
  const int64_t since = nanoseconds_now();
  const std::array<std::pair<int64_t, double>, 3> wrong{
      {{0, 0}, {3000 * kMillisecond, 50e-6}, {-40 * kMillisecond, -50e-6}}};
  std::array<int64_t, 3> marked{};
  std::string text;
  run_ranks(
      3,
      [&](Comm& comm) {
        const auto [ahead, drift] = wrong.at(static_cast<std::size_t>(comm.rank()));
        const TrainingModel model = small_mlp(1);
        Session session(model, cpu_devices(1), all_kernels(), {5, 1, {}});
        session.initialise();
        StepFeeds feeds(model, 24, 5, kSmall);
        RecorderOptions options;
        options.clock = [since, ahead = ahead, drift = drift](int64_t at) {
          return at + ahead + std::llround(static_cast<double>(at - since) * drift);
        };
        TraceRecorder recorder(session, &comm, options);
        for (int64_t step = 0; step < 20; ++step) {
          recorder.begin_iteration(step + 1);
          session.step().run(feeds.at(step, 0.05F), session.run_options(0));
          std::this_thread::sleep_for(std::chrono::milliseconds(30));
          recorder.end_iteration(24);
        }
        const int64_t now = nanoseconds_now();
        marked.at(static_cast<std::size_t>(comm.rank())) = now;
        recorder.add("mark", TraceKind::other, now, now + 1000);
        const std::vector<RankTrace> ranks = gather_traces(recorder.end(), &comm);
        if (comm.rank() == 0) text = text_of_trace(ranks, {"a command", {1, 20}});
      },
      Milliseconds(60'000), tcp_store_here());
  const SeenTrace seen = expect_rules(text);
  const auto mark_of = [&](int rank) {
    for (const SeenSlice& slice : seen.row(rank + 1, "loop").slices)
      if (slice.name == "mark") return slice.begins;
    return int64_t{-1};
  };
  for (int rank = 1; rank < 3; ++rank) {
    const nlohmann::json& clock = seen.about.at("clocks").at(rank);
    const double off = static_cast<double>(mark_of(rank) - mark_of(0) - marked[rank] + marked[0]);
    const double stated = 1e3 * (clock.at("error_us").get<double>() +
                                 seen.about.at("clocks").at(0).at("error_us").get<double>());
    EXPECT_LE(std::abs(off), stated) << "rank " << rank;
    EXPECT_LE(std::abs(off), 200'000) << "rank " << rank;
    const auto [ahead, drift] = wrong.at(static_cast<std::size_t>(rank));
    EXPECT_NEAR(clock.at("offset_us").get<double>(), -static_cast<double>(ahead) / 1e3, 5000);
    EXPECT_NEAR(clock.at("drift_ppm").get<double>(), -drift * 1e6,
                clock.at("drift_error_ppm").get<double>() + 0.1);
  }
}

TEST(TracedSteps, AreIterationsOfTheRun) {
  const auto steps = [](const std::string& text, int64_t first, int64_t last) {
    const TracedSteps found = traced_steps({"trace.json", text}, first, last);
    return std::pair(found.first, found.last);
  };
  EXPECT_EQ(steps("", 1, 100), std::pair(int64_t{3}, int64_t{7}));
  EXPECT_EQ(steps("", 501, 1000), std::pair(int64_t{503}, int64_t{507}));
  EXPECT_EQ(steps("", 1, 6), std::pair(int64_t{2}, int64_t{6}));
  EXPECT_EQ(steps("", 1, 1), std::pair(int64_t{1}, int64_t{1}));
  EXPECT_EQ(steps("100:105", 1, 200), std::pair(int64_t{100}, int64_t{105}));
  EXPECT_EQ(steps("7", 1, 200), std::pair(int64_t{7}, int64_t{7}));
  const auto refused = [&](const std::string& text, const std::string& part) {
    expect_error([&] { steps(text, 11, 50); }, "--trace-steps", part);
  };
  for (const char* text : {"x", "1:", ":5", "1:2:3", "0:4", "-1:3", "1.5", "99999999999999999999"})
    refused(text, "should be FIRST:LAST");
  refused("20:12", "comes after the last");
  refused("45:51", "the run has the iterations 11 to 50");
  refused("5:12", "the run has the iterations 11 to 50");
  expect_error([&] { steps("1:5000", 1, 10000); }, "--trace-steps", "at most 1000 iterations");
}

// A run that `lockstep launch --restarts` starts again has the same words as in its first life.
TEST(TracedSteps, ThatPassedBeforeARestartAreLeftOut) {
  const auto left = [](const std::string& text, int64_t first, int64_t last) {
    const TracedSteps found = traced_steps({"trace.json", text, true}, first, last);
    return std::pair(found.first, found.last);
  };
  EXPECT_EQ(left("5:12", 11, 50), std::pair(int64_t{11}, int64_t{12}));
  EXPECT_EQ(left("20:30", 11, 50), std::pair(int64_t{20}, int64_t{30}));
  EXPECT_EQ(left("", 11, 50), std::pair(int64_t{13}, int64_t{17}));
  for (const char* passed : {"5:10", "3"})
    EXPECT_EQ(left(passed, 11, 50), std::pair(int64_t{11}, int64_t{10})) << passed;
  EXPECT_EQ(left("48:50", 51, 50), std::pair(int64_t{51}, int64_t{50})) << "a finished run";
  expect_error([&] { left("45:51", 11, 50); }, "the run has the iterations 11 to 50");

  const auto note = [](const std::string& text, bool continues = true) {
    return note_of_passed({"trace.json", text, continues}, 11);
  };
  EXPECT_EQ(note("5:10"),
            "--trace-steps 5:10: the run was started again and goes on with iteration 11, so "
            "nothing is traced");
  EXPECT_EQ(note("5:12"),
            "--trace-steps 5:12: the run was started again and goes on with iteration 11, so the "
            "trace begins with iteration 11");
  EXPECT_EQ(note("11:12"), "");
  EXPECT_EQ(note(""), "");
  EXPECT_EQ(note("5:10", false), "") << "a user who resumes a run gets an error";
}

}  // namespace
}  // namespace lockstep::testing
