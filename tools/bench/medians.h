// SPDX-License-Identifier: Apache-2.0
// Several functions timed in turns, so that disturbances affect all alike.
#pragma once

#include <functional>
#include <vector>

namespace lockstep {

// The median time of `runs` calls of each, after one that touches pages and buffers.
std::vector<double> median_seconds(int runs, const std::vector<std::function<void()>>& candidates);

}  // namespace lockstep
