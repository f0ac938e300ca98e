// SPDX-License-Identifier: Apache-2.0
// A small training run with the binary.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "graph/file.h"
#include "tests/support/program.h"

namespace lockstep::testing {

inline constexpr const char* kTrainingConfig = R"(DEVICES: cpu*2
THREADS: 1
MODEL: {TYPE: mlp, HIDDEN: [32, 16]}
DATA: {NAME: digits, TRAIN_SIZE: 400, TEST_SIZE: 100}
TRAIN: {BATCH_SIZE: 16, SNAPSHOT_ITERS: 7, LOG_ITERS: 5}
TEST: {ITERS: 1000}
SOLVER: {BASE_LR: 0.02, MAX_ITER: 60, STEP_SIZE: 40}
)";

class TrainingCommand : public ::testing::Test {
 protected:
  std::string config(const std::string& text = kTrainingConfig) {
    write_file(folder / "config.yaml", text);
    return folder / "config.yaml";
  }
  // Trains into the folder `run`.
  Outcome train(const std::string& run, std::vector<std::string> more = {},
                const ProgramOptions& options = {}) {
    std::vector<std::string> arguments{"train", config(), "OUTPUT_DIR", folder / run};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_lockstep(arguments, options);
  }
  std::string checkpoint(const std::string& run) {
    return read_file(folder / (run + "/checkpoint.safetensors"));
  }
  TemporaryFolder folder;
};

}  // namespace lockstep::testing
