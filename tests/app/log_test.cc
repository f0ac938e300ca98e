// SPDX-License-Identifier: Apache-2.0
// The records that `lockstep train` keeps of its steps: lines, metrics.jsonl, TensorBoard.
#include <gtest/gtest.h>

#include <cmath>
#include <csignal>
#include <filesystem>

#include "app/record/appended_file.h"
#include "app/record/metrics.h"
#include "app/record/tensorboard_values.h"
#include "runtime/dist/sha256.h"
#include "runtime/state/safetensors.h"
#include "tests/support/expect_error.h"
#include "tests/support/occurrences.h"
#include "tests/support/training_command.h"

namespace lockstep::testing {
namespace {

class LogTest : public TrainingCommand {
 protected:
  std::string events(const std::string& run) {
    for (const auto& entry : std::filesystem::directory_iterator(folder / run))
      if (entry.path().filename().string().rfind("events.out.tfevents", 0) == 0)
        return read_file(entry.path());
    return "";
  }
};

// The bytes that `protoc --encode` makes of the same fields.
TEST(ProtoMessage, HasTheBytesOfProtocolBuffers) {
  const ProtoMessage inner = ProtoMessage().integer(1, 0).integer(2, 300).real(3, -1.5);
  EXPECT_EQ(hex_digits(inner.bytes()),
            "0800"
            "10ac02"
            "19000000000000f8bf");
  EXPECT_EQ(hex_digits(ProtoMessage().number(4, 0.1F).text(5, "").text(16, "a").bytes()),
            "25cdcccc3d"
            "2a00"
            "82010161");
  EXPECT_EQ(hex_digits(ProtoMessage().part(6, inner).integer(7, ~uint64_t{0}).bytes()),
            "320e080010ac0219000000000000f8bf"
            "38ffffffffffffffffff01");
  const std::string lengthy(300, 'x');
  EXPECT_EQ(ProtoMessage().text(1, lengthy).bytes(), "\x0a\xac\x02" + lengthy);
}

TEST(TensorBoardValues, HaveTheFieldsInOneOrder) {
  EXPECT_EQ(hex_digits(run_ends_value(RunEnd::success, 1.5).bytes()),
            "0a1a5f68706172616d735f2f73657373696f6e5f656e645f696e666f4a1c0a180a0768706172"
            "616d73120d220b080111000000000000f83f2002420d08011204120208012d00000000");
  EXPECT_EQ(hex_digits(run_starts_value({{"A", "0.5"}, {"B", "true"}, {"C", "x"}}, 1.5).bytes()),
            "0a1c5f68706172616d735f2f73657373696f6e5f73746172745f696e666f4a3d0a390a076870"
            "6172616d73122e1a2c0a0e0a0141120911000000000000e03f0a070a0142120220010a080a01"
            "4312031a017829000000000000f83f2002420d08011204120208012d00000000");
}

// Resuming a run that has ended repeats its last test, but adds no second row for any metric of a
// task.
TEST_F(LogTest, ARepeatedTestHasNoSecondRow) {
  const std::string path = folder / "metrics.jsonl";
  const MetricRow loss{{"iter", 20}, {"loss", 1.5}};
  for (const char* score : {"test_accuracy", "test_AP"}) {
    const MetricRow tested{{"iter", 20}, {score, 0.5}};
    MetricsFile(path, 0).append(loss);
    MetricsFile(path, 20).append(tested);
    EXPECT_EQ(read_metrics(path), (std::vector<MetricRow>{loss, tested}));
    MetricsFile(path, 20).append(tested);
    EXPECT_EQ(read_metrics(path), (std::vector<MetricRow>{loss, tested})) << score;
    MetricsFile again(path, 20);
    again.append({{"iter", 40}, {score, 0.75}});
    EXPECT_EQ(read_metrics(path).size(), 3);
  }
}

// The first update makes the parameters so large that no later step is finite.
TEST_F(LogTest, AWindowOfSkippedStepsHasNoLoss) {
  Outcome outcome = train("run", {"SOLVER.SKIP_NON_FINITE", "true", "SOLVER.BASE_LR", "1e30",
                                  "SOLVER.MAX_ITER", "9", "TRAIN.LOG_ITERS", "3"});
  expect_refused(outcome, {"the held-out loss is nan after iteration 9"});
  EXPECT_EQ(occurrences(outcome.out, "  skipped: the gradient '"), 8) << outcome.out;
  EXPECT_NE(outcome.out.find("iter      3/9   33 %  loss 2."), std::string::npos) << outcome.out;
  for (const char* line : {"iter      6/9   66 %  all 3 steps were skipped  lr ",
                           "iter      9/9  100 %  all 3 steps were skipped  lr "})
    EXPECT_NE(outcome.out.find(line), std::string::npos) << outcome.out;
  EXPECT_EQ(occurrences(outcome.out, "loss 0.0000"), 0) << outcome.out;

  const auto rows = read_metrics(folder / "run/metrics.jsonl");
  ASSERT_EQ(rows.size(), 4u);  // includes the final test
  EXPECT_TRUE(std::isfinite(value_of(rows[0], "loss")));
  for (std::size_t i : {1u, 2u})
    for (const auto& [name, present] :
         {std::pair{"loss", false}, {"accuracy", false}, {"lr", true}})
      EXPECT_EQ(std::isfinite(value_of(rows[i], name)), present) << i << " " << name;
  EXPECT_EQ(occurrences(events("run"), "train/loss"), 1);
  EXPECT_EQ(occurrences(events("run"), "train/accuracy"), 1);
  EXPECT_EQ(occurrences(events("run"), "train/lr"), 3);
}

// With deferred gradients, the step after a non-finite loss is skipped and reports the skip.
TEST_F(LogTest, ADeferredStepThatOverflowsIsSkippedByTheNext) {
  Outcome outcome = train(
      "run", {"SOLVER.SKIP_NON_FINITE", "true", "SOLVER.DEFERRED", "true", "SOLVER.BASE_LR", "1e30",
              "SOLVER.MAX_ITER", "9", "TRAIN.LOG_ITERS", "3", "TRAIN.SNAPSHOT_ITERS", "100"});
  expect_refused(outcome, {"after iteration 9 'cpu_0/", "is -inf at", "lower SOLVER.BASE_LR"});
  // Step 1 applies gradients of zero, but decays at that rate. Step 2 overflows; step 3 is the
  // first step that is skipped.
  EXPECT_EQ(occurrences(outcome.out, "  skipped: the gradient '"), 7) << outcome.out;
  EXPECT_NE(outcome.out.find("iter      6/9   66 %  all 3 steps were skipped"), std::string::npos)
      << outcome.out;
  EXPECT_NE(outcome.out.find("iter      3/9   33 %  loss 2."), std::string::npos) << outcome.out;
}

TEST_F(LogTest, AJumpOfTheRateIsALine) {
  Outcome outcome = train("run", {"SOLVER.STEP_SIZE", "3", "SOLVER.MAX_ITER", "7"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const char* line : {"iter      4  learning rate 0.02 -> 0.002\n",
                           "iter      7  learning rate 0.002 -> 0.0002\n"})
    EXPECT_EQ(occurrences(outcome.out, line), 1) << outcome.out;
  EXPECT_EQ(occurrences(outcome.out, "learning rate"), 2) << outcome.out;
  const auto rows = read_metrics(folder / "run/metrics.jsonl");
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(value_of(rows[1], "iter"), 7) << "the last window is shorter";
  // Logged again only for a jump after the resumed iteration, not for an earlier jump.
  outcome = train("run", {"--resume", "SOLVER.STEP_SIZE", "3", "SOLVER.MAX_ITER", "10"});
  EXPECT_EQ(occurrences(outcome.out, "learning rate"), 1) << outcome.out;
  EXPECT_EQ(occurrences(outcome.out, "iter     10  learning rate 0.0002 -> 2e-05\n"), 1)
      << outcome.out;
}

// From 0.2 to 1 in ten steps: by factors of 1.4, 1.29, 1.22, 1.18, 1.15, 1.13, 1.12, 1.11, 1.10 and
// 1.09.
TEST_F(LogTest, WhatAJumpIsMayBeSaid) {
  auto jumps = [&](const std::string& threshold) {
    Outcome outcome =
        train("run", {"SOLVER.WARM_UP_ITERS", "10", "SOLVER.WARM_UP_FACTOR", "0.2",
                      "SOLVER.MAX_ITER", "12", "SOLVER.LOG_LR_CHANGE_THRESHOLD", threshold});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return occurrences(outcome.out, "learning rate");
  };
  EXPECT_EQ(jumps("1.1"), 8);
  EXPECT_EQ(jumps("1.3"), 1);
  EXPECT_EQ(jumps("1"), 10) << "not while the rate is constant";
  expect_refused(train("run", {"SOLVER.LOG_LR_CHANGE_THRESHOLD", "0.9"}),
                 {"SOLVER.LOG_LR_CHANGE_THRESHOLD is '0.9'", "should be at least 1"});
}

TEST(AppendedFile, WhatCannotBeWrittenWaits) {
  TemporaryFolder folder;
  {
    AppendedFile full("/dev/full");
    full.append("a\n");
    EXPECT_EQ(full.trouble(), "cannot write /dev/full: No space left on device");
    AppendedFile file(folder / "f");
    file.append("a\n");
    file.append("b\n");
    EXPECT_EQ(file.trouble(), "");
  }
  EXPECT_EQ(read_file(folder / "f"), "a\nb\n");
  expect_error([&] { AppendedFile(folder / "none/f"); }, "none/f: No such file");
}

// An interval that the end of a session cuts has the same numbers as an interval that is not cut.
TEST_F(LogTest, AWindowThatIsCutIsClosedAsIfItWereWhole) {
  auto rows_of = [&](const std::string& run) {
    std::vector<MetricRow> rows;
    for (MetricRow row : read_metrics(folder / (run + "/metrics.jsonl"))) {
      std::erase_if(row, [](const auto& entry) {
        return entry.first == "time" || entry.first == "data_time" || entry.first == "eta" ||
               entry.first == "images_per_second" || entry.first == "memory_mib" ||
               entry.first == "queue";
      });
      rows.push_back(std::move(row));
    }
    return rows;
  };
  Program program({"train", config(), "OUTPUT_DIR", folder / "cut", "SOLVER.MAX_ITER", "100000"});
  ASSERT_TRUE(program.wait_for("iter     10/"));
  program.send_signal(SIGTERM);
  ASSERT_EQ(program.finish().exit_code, 143);
  const int64_t reached =
      std::stoll(read_safetensors(folder / "cut/checkpoint.safetensors").metadata.at("steps"));
  const std::string end = std::to_string(reached + 12);
  ASSERT_EQ(train("cut", {"--resume", "SOLVER.MAX_ITER", end}).exit_code, 0);
  ASSERT_EQ(train("long", {"SOLVER.MAX_ITER", end}).exit_code, 0);
  EXPECT_EQ(rows_of("cut"), rows_of("long")) << "cut at " << reached;
}

}  // namespace
}  // namespace lockstep::testing
