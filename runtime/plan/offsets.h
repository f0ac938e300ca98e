// Offsets in one arena.
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

// Two lifetimes that overlap in time never overlap in memory. Places one after the other at the
// lowest free offset, in several orders, and improves the best: near the lower bound for the graphs
// that networks make. The same input gives the same offsets.
Offsets plan_offsets(const std::vector<Lifetime>& lifetimes);

// The most bytes alive at one time: no plan can take less.
std::size_t most_alive(const std::vector<Lifetime>& lifetimes);

// Every lifetime its own memory.
Offsets separate_offsets(const std::vector<Lifetime>& lifetimes);

}  // namespace lockstep
