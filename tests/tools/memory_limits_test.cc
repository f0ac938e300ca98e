// `lockstep train` where memory ends: an error by name, at whatever moment that is.
#include <gtest/gtest.h>

#include "tests/support/training_command.h"

namespace lockstep::testing {
namespace {

class MemoryLimits : public TrainingCommand {
 protected:
  Outcome short_run(const ProgramOptions& options) {
    return train("run", {"MODEL.HIDDEN", "[8]", "SOLVER.MAX_ITER", "2", "TRAIN.BATCH_SIZE", "8"},
                 options);
  }
};

// oneDNN ends a process for which it cannot compile a matrix product.
TEST_F(MemoryLimits, OfTheAddressSpaceEndNoProcess) {
  int refused = 0;
  for (const long kibi : {160'000, 180'000, 240'000, 290'000}) {
    const Outcome outcome = short_run({.address_limit = kibi << 10});
    EXPECT_TRUE(outcome.exit_code == 0 || outcome.exit_code == 2)
        << kibi << " KiB: " << outcome.exit_code << " " << outcome.err;
    EXPECT_EQ(outcome.err.empty(), outcome.exit_code == 0);
    EXPECT_EQ(outcome.err.find("internal error"), std::string::npos) << outcome.err;
    refused += outcome.exit_code == 2;
  }
  EXPECT_GT(refused, 0) << "no limit was tight";
}

TEST_F(MemoryLimits, NameOneDnnsMatrixProducts) {
  expect_refused(short_run({.environment = {{"LOCKSTEP_MEMORY", "5M"}}}),
                 {"compiling oneDNN's matrix products needs ",
                  " of memory; 5 MiB are allowed by LOCKSTEP_MEMORY"});
}

}  // namespace
}  // namespace lockstep::testing
