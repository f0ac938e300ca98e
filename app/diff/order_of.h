// SPDX-License-Identifier: Apache-2.0
// Which items keep their order between two lists.
#pragma once

#include <vector>

namespace lockstep {

// `positions`: of the items of one list in the other. Marks a largest set of items that have the
// same order in both; the others moved.
std::vector<bool> longest_increasing(const std::vector<int>& positions);

}  // namespace lockstep
