// SPDX-License-Identifier: Apache-2.0
// `lockstep train` and `lockstep test` with TRAIN.RESIDENT, as a user runs them.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "app/record/metrics.h"
#include "tests/support/training_command.h"

namespace lockstep::testing {
namespace {

class ResidentCommand : public TrainingCommand {
 protected:
  Outcome train_resident(const std::string& run, std::vector<std::string> more = {},
                         const ProgramOptions& options = {}) {
    more.insert(more.begin(), {"TRAIN.RESIDENT", "true"});
    return train(run, more, options);
  }
};

// Training reads 400 digits in 25 minibatches.
TEST_F(ResidentCommand, TrainsTestsAndSaysItsRows) {
  const Outcome trained = train_resident("run");
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  EXPECT_NE(trained.out.find("400 of 400 rows: 25 minibatches of 8 rows on each of 2 replicas"),
            std::string::npos)
      << trained.out;
  for (const char* file : {"model.onnx", "step.onnx", "report.html", "checkpoint.safetensors"})
    EXPECT_TRUE(std::filesystem::exists(folder / (std::string("run/") + file))) << file;
  EXPECT_LT(std::filesystem::file_size(folder / "run/checkpoint.safetensors"), 400u * 784 * 4)
      << "the checkpoint stores no pictures";
  const auto rows = read_metrics(folder / "run/metrics.jsonl");
  EXPECT_TRUE(std::isnan(value_of(rows[0], "queue")));
  const Outcome tested = run_lockstep({"test", folder / "config.yaml", "OUTPUT_DIR", folder / "run",
                                       "TRAIN.RESIDENT", "true", "--out", folder / "scores"});
  ASSERT_EQ(tested.exit_code, 0) << tested.err;
  EXPECT_NE(tested.out.find("held-out accuracy "), std::string::npos) << tested.out;
}

TEST_F(ResidentCommand, AfterKillGivesTheSameBits) {
  const std::vector<std::string> longer{"SOLVER.MAX_ITER", "400"};
  ASSERT_EQ(train_resident("whole", longer).exit_code, 0);
  std::vector<std::string> again = longer;
  again.insert(again.end(), {"--resume", "auto"});
  for (const long delay : {60, 120, 180})
    (void)train_resident("cut", again, {.kill_after_ms = delay});
  const Outcome last = train_resident("cut", again);
  ASSERT_EQ(last.exit_code, 0) << last.err;
  EXPECT_TRUE(checkpoint("whole") == checkpoint("cut"));
}

TEST_F(ResidentCommand, RefusesByNameAndBeforeMemoryRunsOut) {
  expect_refused(train_resident("run", {"TRAIN.MIXUP", "0.2"}),
                 {"TRAIN.RESIDENT", "TRAIN.MIXUP mixes pictures"});
  expect_refused(train_resident("run", {"DATA.TRAIN_SIZE", "20000"},
                                {.environment = {{"LOCKSTEP_MEMORY", "60M"}}}),
                 {"TRAIN.RESIDENT true, for 20000 pictures of 3144 bytes", "LOCKSTEP_MEMORY"});
  ASSERT_EQ(train("run", {"SOLVER.MAX_ITER", "10"}).exit_code, 0);
  const Outcome resumed = train_resident("run", {"--resume", "SOLVER.MAX_ITER", "30"});
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_NE(resumed.out.find("TRAIN.RESIDENT true instead of false"), std::string::npos)
      << resumed.out;
}

}  // namespace
}  // namespace lockstep::testing
