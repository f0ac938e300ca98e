// SPDX-License-Identifier: Apache-2.0
// Parts of a specification of gradient sums, beside its type in lockstep/all_reduce.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lockstep/all_reduce.h"

namespace lockstep {

// "0,2,1,3": a process's replicas in ring order.
std::vector<int> parse_ring_order(const std::string& text);

// The first range whose algorithm leaves its operands unsummed, as `trivial` does; or null.
const AllReduceRange* unsummed_range(const AllReduceSpec& spec);

// The first range for a tensor of this many elements of `element_bytes` bytes each.
std::size_t range_for(const AllReduceSpec& spec, int64_t elements, int64_t element_bytes);

}  // namespace lockstep
