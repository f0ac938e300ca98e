// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/medians.h"

#include <algorithm>
#include <chrono>

#include "app/format.h"

namespace lockstep {

std::vector<double> median_seconds(int runs, const std::vector<std::function<void()>>& candidates) {
  std::vector<std::vector<double>> seconds(candidates.size());
  for (int i = 0; i <= runs; ++i)
    for (std::size_t c = 0; c < candidates.size(); ++c) {
      const auto start = std::chrono::steady_clock::now();
      candidates[c]();
      if (i > 0) seconds[c].push_back(seconds_since(start));
    }
  std::vector<double> medians;
  for (auto& of_one : seconds) {
    std::sort(of_one.begin(), of_one.end());
    medians.push_back(of_one[of_one.size() / 2]);
  }
  return medians;
}

}  // namespace lockstep
