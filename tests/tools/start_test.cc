// SPDX-License-Identifier: Apache-2.0
// The usual start of a run: a file and nothing else. Of all tests of the command, only this test
// also runs in sanitized builds.
#include <gtest/gtest.h>

#include "tests/support/training_command.h"

namespace lockstep::testing {
namespace {

class StartTest : public TrainingCommand {
 protected:
  std::string short_config() {
    return config("OUTPUT_DIR: " + folder.path() + R"(/run
DEVICES: cpu*2
THREADS: 1
MODEL: {TYPE: mlp, HIDDEN: [8]}
DATA: {NAME: digits, TRAIN_SIZE: 64, TEST_SIZE: 16}
TRAIN: {BATCH_SIZE: 8, SNAPSHOT_ITERS: 2, LOG_ITERS: 1}
SOLVER: {BASE_LR: 0.02, MAX_ITER: 5, STEP_SIZE: 4}
)");
  }
};

TEST_F(StartTest, TrainsByAFileAlone) {
  const Outcome whole = run_lockstep({"train", short_config()});
  EXPECT_EQ(whole.exit_code, 0) << whole.err;
  EXPECT_EQ(whole.err, "");
  const Outcome more = run_lockstep({"train", short_config(), "--resume", "SOLVER.MAX_ITER", "8"});
  EXPECT_EQ(more.exit_code, 0) << more.err;
  EXPECT_NE(more.out.find("8/8"), std::string::npos) << more.out;
}

TEST_F(StartTest, RefusesBeforeItStarts) {
  expect_refused(run_lockstep({"train", short_config(), "SOLVER.MAX_ITER"}),
                 {"SOLVER.MAX_ITER", "has no value"});
}

}  // namespace
}  // namespace lockstep::testing
