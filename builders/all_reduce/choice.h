// SPDX-License-Identifier: Apache-2.0
// The algorithm `auto`: chooses the one with the least predicted time.
#pragma once

#include <string>

#include "lockstep/all_reduce.h"

namespace lockstep {

// The predicted time of one range of a spec.
double predicted_seconds(const AllReduceRange& range, const Topology& topology, int replicas,
                         int processes, double bytes);

struct Choice {
  AllReduceRange range;
  std::string why;  // "rechd 1.31 ms; collective 1.40, xring 2.80, .."
};
// The fastest algorithm by that prediction.
Choice choose_algorithm(const Topology& topology, int replicas, int processes, double bytes);

}  // namespace lockstep
