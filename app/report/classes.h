// SPDX-License-Identifier: Apache-2.0
// The part of report.html about a test: images, classes, and confusions.
#pragma once

#include <string>
#include <vector>

#include "app/record/test_result.h"

namespace lockstep {

struct Tested {
  TestResult result;
  std::vector<std::string> classes;  // names, by label
  int64_t iteration = 0;
  bool own_share = false;  // true with several processes: a process keeps the images that it tested
};

std::string html_of(const Tested& tested);

// Images of one class mistaken for another, the most frequent first.
struct Mixup {
  std::size_t label = 0, guess = 0;
  int64_t count = 0, of = 0;
};
std::vector<Mixup> mixups(const std::vector<std::vector<int64_t>>& confusion, std::size_t most);

}  // namespace lockstep
