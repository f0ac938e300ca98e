// SPDX-License-Identifier: Apache-2.0
// The differences of two sets of tensors by name: the largest difference of each, and where.
#pragma once

#include <map>
#include <string>

#include "app/diff/change.h"
#include "lockstep/model_files.h"

namespace lockstep {

// A comparison of `a`'s and `b`'s tensors. `partners`: names of b by names of a, where they differ
// or are known; a tensor without an entry has the partner of its own name, or else the only tensor
// of b without a partner that has equal bytes.
struct WeightRequest {
  const StateValues& a;
  const StateValues& b;
  std::map<std::string, std::string> partners = {};
};

// Appends the changes, the largest differences first.
void add_weight_changes(const WeightRequest& request, Changes& changes);

}  // namespace lockstep
