// SPDX-License-Identifier: Apache-2.0
// A short run in bfloat16 learns as well as a run in float32.
#include <regex>

#include "tests/support/training_command.h"

namespace lockstep::testing {
namespace {

class PrecisionCommand : public TrainingCommand {
 protected:
  // The accuracy of LeNet on digits, in percent.
  double held_out_accuracy(const std::string& precision) {
    const Outcome outcome =
        train(precision, {"MODEL.TYPE", "lenet", "DATA.TRAIN_SIZE", "4000", "DATA.TEST_SIZE",
                          "1000", "TRAIN.BATCH_SIZE", "32", "SOLVER.MAX_ITER", "120",
                          "SOLVER.STEP_SIZE", "90", "PRECISION", precision});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    std::smatch found;
    if (!std::regex_search(outcome.out, found, std::regex("held-out accuracy ([0-9.]+) %")))
      throw std::runtime_error("no accuracy in: " + outcome.out);
    return std::stod(found[1]);
  }
};

TEST_F(PrecisionCommand, Bfloat16LearnsWhatFloat32Learns) {
  const double wide = held_out_accuracy("float32"), narrow = held_out_accuracy("bfloat16");
  EXPECT_GT(wide, 90);
  EXPECT_NEAR(wide, narrow, 1);
}

}  // namespace
}  // namespace lockstep::testing
