// SPDX-License-Identifier: Apache-2.0
// `lockstep train` out of memory: an error with a name, at any point of the run.
#include <gtest/gtest.h>

#include "tests/support/training_command.h"
#include "tests/tools/detector_command.h"

namespace lockstep::testing {
namespace {

class MemoryLimits : public TrainingCommand {
 protected:
  Outcome short_run(const ProgramOptions& options, const std::vector<std::string>& more = {}) {
    std::vector<std::string> words{"MODEL.HIDDEN",     "[8]", "SOLVER.MAX_ITER", "2",
                                   "TRAIN.BATCH_SIZE", "8"};
    words.insert(words.end(), more.begin(), more.end());
    return train("run", words, options);
  }

  // Runs under each limit, in KiB. Some limits must be too tight, but not all.
  template <class Run>
  void expect_no_process_ends(const Run& run, const std::vector<long>& limits) {
    int refused = 0;
    for (const long kibi : limits) {
      const Outcome outcome = run(ProgramOptions{.address_limit = kibi << 10});
      EXPECT_TRUE(outcome.exit_code == 0 || outcome.exit_code == 2)
          << kibi << " KiB: " << outcome.exit_code << " " << outcome.err;
      EXPECT_EQ(outcome.err.empty(), outcome.exit_code == 0) << outcome.err;
      EXPECT_EQ(outcome.err.find("internal error"), std::string::npos) << outcome.err;
      refused += outcome.exit_code == 2;
    }
    EXPECT_GT(refused, 0) << "no limit was too tight";
    EXPECT_LT(refused, static_cast<int>(limits.size())) << "no limit sufficed";
  }
};

// oneDNN would end the process if it cannot compile a matrix product.
TEST_F(MemoryLimits, OfTheAddressSpaceEndNoProcess) {
  expect_no_process_ends([&](const ProgramOptions& options) { return short_run(options); },
                         {160'000, 180'000, 240'000, 290'000});
}

const std::vector<long> kDozen{150'000, 165'000, 180'000, 195'000, 210'000, 225'000,
                               240'000, 255'000, 270'000, 285'000, 300'000, 500'000};

// oneDNN would also end the process if it cannot compile a convolution, a pooling or a reorder.
TEST_F(MemoryLimits, EndNoProcessThatConvolves) {
  expect_no_process_ends(
      [&](const ProgramOptions& options) {
        return short_run(options, {"MODEL.TYPE", "lenet"});
      },
      kDozen);
}

TEST_F(MemoryLimits, EndNoProcessThatConvolvesInBfloat16) {
  expect_no_process_ends(
      [&](const ProgramOptions& options) {
        return short_run(options, {"MODEL.TYPE", "lenet", "PRECISION", "bfloat16"});
      },
      kDozen);
}

TEST_F(MemoryLimits, EndNoProcessOfADetector) {
  write_file(folder / "small.yaml", kSmallDetector);
  expect_no_process_ends(
      [&](const ProgramOptions& options) {
        return run_lockstep(
            {"train", folder / "small.yaml", "OUTPUT_DIR", folder / "detector", "--devices", "cpu",
             "TRAIN.SCALES", "[64]", "SOLVER.BASE_LR", "0.01", "SOLVER.MAX_ITER", "1"},
            options);
      },
      kDozen);
}

TEST_F(MemoryLimits, NameOneDnnsMatrixProducts) {
  expect_refused(short_run({.environment = {{"LOCKSTEP_MEMORY", "5M"}}}),
                 {"compiling oneDNN's matrix products needs ",
                  " of memory; 5 MiB are allowed by LOCKSTEP_MEMORY"});
}

}  // namespace
}  // namespace lockstep::testing
