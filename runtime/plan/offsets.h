// SPDX-License-Identifier: Apache-2.0
// Memory offsets in one arena.
#pragma once

#include <cstddef>
#include <vector>

namespace lockstep {

struct Lifetime {
  std::size_t bytes = 0;
  int first = 0;  // alive in [first, last]
  int last = 0;
};

struct Offsets {
  std::vector<std::size_t> offset;  // per lifetime, 64-byte aligned
  std::size_t total = 0;
};

// Assigns offsets so that lifetimes that overlap in time do not overlap in memory. Tries several
// orders, each at the lowest free offset, and improves the best. The total is near the lower bound
// for typical networks. The same input gives the same offsets.
Offsets plan_offsets(const std::vector<Lifetime>& lifetimes);

// Returns the peak of bytes alive at one time, a lower bound for any plan.
std::size_t most_alive(const std::vector<Lifetime>& lifetimes);

// Gives every lifetime separate memory.
Offsets separate_offsets(const std::vector<Lifetime>& lifetimes);

}  // namespace lockstep
