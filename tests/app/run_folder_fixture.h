// SPDX-License-Identifier: Apache-2.0
// Runs short trainings in the folders of one series.
#pragma once

#include <gtest/gtest.h>

#include "data/image.h"
#include "tests/support/training_command.h"

namespace lockstep::testing {

class RunFolder : public TrainingCommand {
 protected:
  Outcome quick(const std::string& run, std::vector<std::string> more = {}) {
    more.insert(more.end(), {"SOLVER.MAX_ITER", "7"});
    return train(run, more);
  }
  // A sample picture of a digit.
  std::string drawn_digit() {
    const std::string path = folder / "digit.png";
    write_file(path, png_of({28, 28, std::vector<uint8_t>(3 * 28 * 28, 40)}));
    return path;
  }
};

}  // namespace lockstep::testing
