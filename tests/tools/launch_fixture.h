// SPDX-License-Identifier: Apache-2.0
// Runs several processes as a user does: shared code for tests of `lockstep launch` and of ranks
// that are started separately.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "graph/file.h"
#include "runtime/state/safetensors.h"
#include "tests/support/program.h"

namespace lockstep::testing {

inline constexpr const char* kConfig = R"(DEVICES: cpu
THREADS: 1
MODEL: {TYPE: mlp, HIDDEN: [32, 16]}
DATA: {NAME: digits, TRAIN_SIZE: 400, TEST_SIZE: 100}
TRAIN: {BATCH_SIZE: 16, SNAPSHOT_ITERS: 50, LOG_ITERS: 50}
TEST: {ITERS: 100000}
SOLVER: {BASE_LR: 0.02, MAX_ITER: 200, STEP_SIZE: 150}
)";

class LaunchTest : public ::testing::Test {
 protected:
  void SetUp() override { write_file(folder / "config.yaml", kConfig); }

  std::vector<std::string> train(const std::string& run,
                                 const std::vector<std::string>& more = {}) {
    std::vector<std::string> words{"train", folder / "config.yaml", "OUTPUT_DIR", folder / run};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  Outcome launch(int processes, const std::vector<std::string>& command) {
    std::vector<std::string> words{"launch", "-n", std::to_string(processes), "--", "lockstep"};
    words.insert(words.end(), command.begin(), command.end());
    return run_lockstep(words);
  }
  // One rank; all ranks of a run meet at the same store.
  struct Meeting {
    std::string store;
    int size;
    int timeout;  // seconds
  };
  std::unique_ptr<Program> rank(int number, const std::vector<std::string>& command,
                                const Meeting& meeting) {
    return std::make_unique<Program>(
        command,
        ProgramOptions{.environment = {{"RANK", std::to_string(number)},
                                       {"WORLD_SIZE", std::to_string(meeting.size)},
                                       {"LOCKSTEP_STORE", meeting.store},
                                       {"LOCKSTEP_TIMEOUT", std::to_string(meeting.timeout)}}});
  }
  // Starts one of four ranks that meet in a folder.
  std::unique_ptr<Program> rank(int number, const std::vector<std::string>& command) {
    return rank(number, command, {"file://" + store(), 4, 4});
  }
  std::string store() const { return folder / join("store", meeting_); }
  void next_meeting() { ++meeting_; }

  std::map<std::string, Literal> weights(const std::string& run) {
    return read_safetensors(folder / (run + "/checkpoint.safetensors")).tensors;
  }

  TemporaryFolder folder;
  int meeting_ = 0;
};

}  // namespace lockstep::testing
