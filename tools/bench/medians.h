// SPDX-License-Identifier: Apache-2.0
// Times several functions in turns, so that disturbances affect all equally.
#pragma once

#include <functional>
#include <vector>

namespace lockstep {

// The median time of `runs` calls of each function, after a call that touches pages and buffers.
std::vector<double> median_seconds(int runs, const std::vector<std::function<void()>>& candidates);

}  // namespace lockstep
