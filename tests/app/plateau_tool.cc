// SPDX-License-Identifier: Apache-2.0
// For tests/python/check_plateau.py.
//   plateau_tool larger|smaller BASE_LR FACTOR PATIENCE THRESHOLD COOLDOWN LEAST_LR VALUE..
//   prints the learning rate after each test, whose result is VALUE
#include <iomanip>
#include <iostream>

#include "app/train/plateau.h"
#include "lockstep/error.h"
#include "tests/support/tool_main.h"

namespace lockstep {
namespace {

int run_plateau_tool(const std::vector<std::string>& words) {
  constexpr std::size_t kRule = 7;
  check(words.size() > kRule,
        "plateau_tool larger|smaller BASE_LR FACTOR PATIENCE THRESHOLD "
        "COOLDOWN LEAST_LR VALUE..");
  LrSchedule schedule{.policy = "plateau", .base_lr = std::stod(words[1])};
  schedule.plateau = {.factor = std::stod(words[2]),
                      .patience = std::stoll(words[3]),
                      .threshold = std::stod(words[4]),
                      .cooldown = std::stoll(words[5]),
                      .least_lr = std::stod(words[6])};
  schedule.max_iter = std::ssize(words) + 1;
  validate(schedule);
  Plateau plateau(schedule, nullptr);
  for (std::size_t i = kRule; i < words.size(); ++i) {
    HeldOutTest test;
    test.measured = std::stod(words[i]);
    test.larger_is_better = words[0] == "larger";
    const auto iterations = static_cast<int64_t>(i - kRule + 1);
    plateau.tested(test, iterations);
    std::cout << std::setprecision(9) << learning_rate(schedule, iterations) << "\n";
  }
  return 0;
}

}  // namespace
}  // namespace lockstep

int main(int count, char** words) {
  return lockstep::testing::tool_main(count, words, lockstep::run_plateau_tool);
}
