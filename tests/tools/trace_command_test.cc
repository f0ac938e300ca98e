// SPDX-License-Identifier: Apache-2.0
// --trace as users write it: of several ranks, of single steps, of runs that end early; and the
// line that names the slowest rank.
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "tests/support/trace_rules.h"
#include "tests/tools/launch_fixture.h"
#include "tests/tools/step_command.h"

namespace lockstep::testing {
namespace {

namespace fs = std::filesystem;

constexpr const char* kResNet = R"(DEVICES: cpu*2
THREADS: 1
MODEL: {TYPE: resnet18, NUM_CLASSES: 10}
DATA: {NAME: synthetic, IMAGE_SIZE: 64, TRAIN_SIZE: 64, TEST_SIZE: 8, THREADS: 2}
TRAIN: {BATCH_SIZE: 16, LOG_ITERS: 4}
TEST: {ITERS: 1000}
SOLVER: {BASE_LR: 0.01, MAX_ITER: 7}
)";

class TraceCommand : public LaunchTest {
 protected:
  std::string file() const { return folder / "trace.json"; }
};

// The parts of a worker's row, without gaps: waits, feeds and operators take the time of the step.
void expect_sums(const SeenRow& row) {
  int steps = 0;
  for (const SeenSlice& slice : row.slices) {
    if (slice.depth > 0) continue;
    ++steps;
    EXPECT_EQ(slice.category, "step") << row.name << ": " << slice.name;
    const auto whole = static_cast<double>(slice.ends - slice.begins);
    EXPECT_NEAR(static_cast<double>(sum_within(row, slice)), whole, 0.03 * whole)
        << row.name << ": " << slice.name;
  }
  EXPECT_EQ(steps, 3) << row.name;
}

TEST_F(TraceCommand, OfTwoProcessesOfTwoReplicas) {
  write_file(folder / "config.yaml", kResNet);
  const Outcome two = launch(2, train("two", {"--trace", file(), "--trace-steps", "4:6"}));
  ASSERT_EQ(two.exit_code, 0) << two.out << two.err;
  EXPECT_NE(two.out.find("trace of the iterations 4 to 6 of 2 ranks, whose clocks agree to "),
            std::string::npos)
      << two.out;
  const SeenTrace seen = expect_rules(read_file(file()));
  ASSERT_EQ(seen.processes.size(), 2U);
  double error = 0;
  for (int rank = 0; rank < 2; ++rank) {
    const int process = rank + 1;
    EXPECT_EQ(seen.processes.at(process).rfind(join("rank ", rank, " (host "), 0), 0U);
    for (const char* worker : {"cpu:0", "cpu:1", "exchange"})
      expect_sums(seen.row(process, worker));
    std::size_t items = 0;  // of both threads: one may have read them all
    for (const auto& [place, row] : seen.rows)
      if (place.first == process && row.name.starts_with("loader ")) items += row.slices.size();
    EXPECT_GT(items, 0U);
    for (const char* counter : {"memory", "images/s"})
      EXPECT_EQ(seen.counters.at({process, counter}).size(), 3U) << counter;
    const nlohmann::json& clock = seen.about.at("clocks").at(rank);
    error += 1e3 * clock.at("error_us").get<double>();
    // Both processes run on one host, so they have one clock.
    EXPECT_LE(std::abs(clock.at("offset_us").get<double>()),
              clock.at("error_us").get<double>() + 0.01);
  }

  int reduces = 0;
  for (const auto& [place, row] : seen.rows)
    for (const SeenSlice& slice : row.slices) {
      if (slice.category != "reduce" || !slice.facts.contains("operator")) continue;
      ++reduces;
      EXPECT_TRUE(slice.has_arrow_in) << slice.name;
      EXPECT_TRUE(slice.has_arrow_out) << slice.name;
    }
  EXPECT_GT(reduces, 0);

  // Each message arrives after it left, as far as the clocks are known.
  int messages = 0, gradients = 0, updates = 0;
  for (const SeenArrow& arrow : seen.arrows) {
    const SeenSlice &from = seen.from(arrow), &to = seen.to(arrow);
    gradients += from.category == "backward" && to.category == "reduce";
    updates += from.category == "reduce" && to.category == "update";
    EXPECT_EQ(arrow.from_row.first != arrow.to_row.first, arrow.name == "message");
    if (arrow.name != "message") continue;
    ++messages;
    EXPECT_LE(static_cast<double>(arrow.leaves), static_cast<double>(arrow.arrives) + error);
    EXPECT_EQ(seen.rows.at(arrow.from_row).name, "exchange");
    EXPECT_EQ(seen.rows.at(arrow.to_row).name, "exchange");
  }
  // Both ranks send their share of each bucket and receive the other's, in three steps.
  EXPECT_GE(messages, 3 * 2);
  EXPECT_GE(gradients, 2 * 3 * 62);  // parameters of ResNet-18, of each replica
  EXPECT_GE(updates, 2 * 3);

  // The same run without a trace has the same bits.
  ASSERT_EQ(launch(2, train("untraced")).exit_code, 0);
  EXPECT_EQ(weights("two"), weights("untraced"));
}

TEST_F(TraceCommand, OfARunThatEndsEarlyIsWritten) {
  Program run(train("run", {"--devices", "cpu*2", "SOLVER.MAX_ITER", "100000", "TRAIN.LOG_ITERS",
                            "5", "--trace", file(), "--trace-steps", "3:1000"}));
  ASSERT_TRUE(run.wait_for("iter     10/"));
  run.send_signal(SIGINT);
  const Outcome outcome = run.finish();
  ASSERT_EQ(outcome.exit_code, 128 + SIGINT) << outcome.err;
  EXPECT_NE(outcome.out.find("trace of the iterations 3 to "), std::string::npos) << outcome.out;
  const SeenTrace seen = expect_rules(read_file(file()));
  const int last = seen.about.at("iterations").at(1);
  EXPECT_GE(last, 10);
  const SeenRow& row = seen.row(1, "cpu:0");
  int steps = 0;
  for (const SeenSlice& slice : row.slices) steps += slice.depth == 0 ? 1 : 0;
  EXPECT_EQ(steps, last - 2);
}

// The held-out test runs the inference graph on the same worker.
TEST_F(TraceCommand, OfAnIterationThatIsTestedHasTheTest) {
  const Outcome outcome =
      run_lockstep(train("run", {"SOLVER.MAX_ITER", "12", "TEST.ITERS", "5", "TRAIN.SNAPSHOT_ITERS",
                                 "5", "--trace", file(), "--trace-steps", "4:6"}));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const SeenTrace seen = expect_rules(read_file(file()));
  std::vector<std::string> names;
  for (const SeenSlice& slice : seen.row(1, "loop").slices)
    if (slice.depth == 0) names.push_back(slice.name);
  EXPECT_EQ(names, (std::vector<std::string>{"iteration 4", "iteration 5", "test", "save",
                                             "iteration 6"}));
  bool predicts = false;
  for (const SeenSlice& slice : seen.row(1, "cpu:0").slices)
    predicts = predicts || (slice.depth == 0 && slice.name == "prediction");
  EXPECT_TRUE(predicts);
}

TEST_F(TraceCommand, CannotBeWrittenOrAskedWrongly) {
  const auto refused = [&](const std::vector<std::string>& more,
                           const std::vector<std::string>& parts) {
    expect_refused(run_lockstep(train("run", more)), parts);
    EXPECT_FALSE(fs::exists(folder / "run/checkpoint.safetensors"));
  };
  refused({"--trace", folder / "none/trace.json"}, {"--trace", "there is no folder"});
  refused({"--trace", folder / ""}, {"folder"});
  refused({"--trace-steps", "3:5"}, {"--trace-steps 3:5 needs --trace FILE"});
  refused({"--trace", file(), "--trace-steps", "200:201"},
          {"--trace-steps 200:201: the run has the iterations 1 to 200"});
  refused({"--trace", file(), "--trace-steps", "a:b"},
          {"--trace-steps 'a:b' should be FIRST:LAST"});
  const Outcome of_two = launch(2, train("run", {"--trace", file(), "--trace-steps", "9:1"}));
  EXPECT_EQ(of_two.exit_code, 2);
  EXPECT_NE((of_two.out + of_two.err).find("the first iteration comes after the last"),
            std::string::npos)
      << of_two.out;
  EXPECT_FALSE(fs::exists(file()));
}

// A file that exists is replaced only if it is a trace, or if the run does not read it.
TEST_F(TraceCommand, ReplacesNoFileThatTheRunReads) {
  const auto refused = [&](const std::string& run, const std::string& trace,
                           const std::vector<std::string>& more,
                           const std::vector<std::string>& parts) {
    const std::string before = read_file(trace);
    std::vector<std::string> words{"--trace", trace};
    words.insert(words.end(), more.begin(), more.end());
    expect_refused(run_lockstep(train(run, words)), parts);
    EXPECT_EQ(read_file(trace), before);
  };
  const std::string config = folder / "config.yaml", base = folder / "base.yaml";
  refused("new", config, {}, {"--trace ", "would replace the configuration ", "config.yaml"});
  write_file(base, kConfig);
  write_file(config, "_BASE_: base.yaml\n");
  refused("new", base, {}, {"would replace the configuration ", "base.yaml"});
  fs::create_symlink(config, folder / "link.json");
  refused("new", folder / "link.json", {}, {"the configuration "});

  ASSERT_EQ(run_lockstep(train("run", {"SOLVER.MAX_ITER", "60"})).exit_code, 0);
  const std::string checkpoint = folder / "run/checkpoint.safetensors";
  refused("new", checkpoint, {"MODEL.WEIGHTS", checkpoint},
          {"a file that the run reads: MODEL.WEIGHTS names ", "checkpoint.safetensors"});
  for (const char* file : {"checkpoint.safetensors", "step.onnx", "metrics.jsonl"})
    refused("run", folder / join("run/", file), {"--resume"},
            {"would replace a file ", "OUTPUT_DIR"});
  ASSERT_EQ(run_lockstep(train("run", {"SOLVER.MAX_ITER", "60"})).exit_code, 0);
  refused("run", folder / "run.2/step.onnx", {"--resume"},
          {"would replace a file of the run that goes on from ", "run.2/checkpoint.safetensors"});
  make_folder(folder / "data");
  write_file(folder / "data/a.txt", "abc");
  refused("new", folder / "data/a.txt", {"DATA.ROOT", folder / "data"},
          {"would replace a file in ", "the folder that DATA.ROOT names"});
  EXPECT_FALSE(fs::exists(folder / "new"));
  write_file(folder / "text.yaml", "MODEL: {TYPE: char_lstm}\n");
  expect_refused(run_lockstep({"train", folder / "text.yaml", "DATA.FILES",
                               "[" + (folder / "data/*.txt") + "]", "OUTPUT_DIR", folder / "new",
                               "--trace", folder / "data/a.txt"}),
                 {"a file that the run reads: DATA.FILES names ", "data/*.txt"});
  expect_refused(run_lockstep({"bench", "train-step", config, "--steps", "1", "--trace", config}),
                 {"would replace the configuration "});

  // An earlier trace in the run's folder, and another command's file.
  write_file(file(), "my notes");
  ASSERT_EQ(run_lockstep(train("run", {"SOLVER.MAX_ITER", "6", "--trace", file()})).exit_code, 0);
  expect_rules(read_file(file()));
  const std::vector<std::string> again{"SOLVER.MAX_ITER", "6", "--trace", folder / "run/t.json"};
  for (int i = 0; i < 2; ++i) {
    const Outcome outcome = run_lockstep(train("run", again));
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  }
}

// The request of rank 0 counts: another rank may run where the file's folder is missing.
TEST_F(TraceCommand, IsCheckedWhereItIsWritten) {
  std::vector<std::unique_ptr<Program>> ranks;
  for (int number = 0; number < 2; ++number)
    ranks.push_back(rank(number,
                         train("run", {"SOLVER.MAX_ITER", "10", "--trace",
                                       number == 0 ? file() : folder / "none/trace.json"}),
                         {"file://" + store(), 2, 20}));
  for (auto& program : ranks) {
    const Outcome outcome = program->finish();
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  }
  EXPECT_EQ(expect_rules(read_file(file())).processes.size(), 2U);
}

TEST_F(TraceCommand, OfABenchmark) {
  const std::vector<std::string> bench{"bench",  "train-step", "--model", "mlp",       "--batch",
                                       "32",     "--steps",    "6",       "--threads", "1",
                                       "--json", "--trace",    file(),    "--devices", "cpu*2"};
  const Outcome outcome = run_lockstep(bench);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("trace of the iterations 2 to 6: "), std::string::npos) << outcome.err;
  EXPECT_GT(nlohmann::json::parse(outcome.out).at("seconds").get<double>(), 0);
  const SeenTrace seen = expect_rules(read_file(file()));
  EXPECT_EQ(seen.counters.at({1, "examples/s"}).size(), 5U);
  const Outcome of_config = run_lockstep({"bench", "train-step", folder / "config.yaml", "--steps",
                                          "4", "--trace", file(), "--trace-steps", "1:4"});
  ASSERT_EQ(of_config.exit_code, 0) << of_config.err;
  EXPECT_EQ(expect_rules(read_file(file())).counters.at({1, "examples/s"}).size(), 4U);
  std::vector<std::string> both = bench;
  both.emplace_back("--profile");
  EXPECT_NE(run_lockstep(both).exit_code, 0);
}

TEST_F(StepCommand, WritesATraceOfItsSteps) {
  const std::string out = run({"--steps", "4", "--trace", folder / "trace.json"});
  EXPECT_NE(out.find("trace of the iterations 1 to 4: "), std::string::npos) << out;
  const SeenTrace seen = expect_rules(read_file(folder / "trace.json"));
  const SeenRow& row = seen.row(1, "cpu:0");
  std::vector<std::string> steps;
  for (const SeenSlice& slice : row.slices)
    if (slice.depth == 0) steps.push_back(slice.name);
  EXPECT_EQ(steps, (std::vector<std::string>{"step 1", "step 2", "step 3", "step 4"}));
  expect_refused(step({"--trace", folder / "net.onnx"}), {"--trace", "would overwrite"});
}

// Stops a process for three of every thirteen milliseconds.
void slow_down(const Program& program, std::chrono::milliseconds time) {
  using std::chrono::milliseconds;
  for (const auto end = std::chrono::steady_clock::now() + time;
       std::chrono::steady_clock::now() < end;) {
    program.send_signal(SIGSTOP);
    std::this_thread::sleep_for(milliseconds(3));
    program.send_signal(SIGCONT);
    std::this_thread::sleep_for(milliseconds(10));
  }
}

// Rank 1 gets 10 of 13 milliseconds, so it is slower by 30 %.
TEST_F(TraceCommand, ARankThatIsSlowedDownIsNamed) {
  const std::vector<std::string> command =
      train("run", {"MODEL.HIDDEN", "[1024, 1024]", "TRAIN.BATCH_SIZE", "256", "TRAIN.LOG_ITERS",
                    "10", "SOLVER.MAX_ITER", "100000", "SOLVER.BASE_LR", "0.0001",
                    "TRAIN.SNAPSHOT_ITERS", "100000"});
  std::vector<std::unique_ptr<Program>> ranks;
  for (int number = 0; number < 2; ++number)
    ranks.push_back(rank(number, command, {"file://" + store(), 2, 20}));
  ASSERT_TRUE(ranks[0]->wait_for("iter     10/"));
  const std::string named = "rank 1 is the slowest, because of its computation: ";
  for (int second = 0; second < 60; ++second) {
    slow_down(*ranks[1], std::chrono::milliseconds(1000));
    if (ranks[0]->out_so_far().find(named) != std::string::npos) break;
  }
  const std::string out = ranks[0]->out_so_far();
  EXPECT_NE(out.find(named), std::string::npos) << out;
  ranks[0]->send_signal(SIGINT);
  for (auto& program : ranks) EXPECT_EQ(program->finish().exit_code, 128 + SIGINT);
}

}  // namespace
}  // namespace lockstep::testing
