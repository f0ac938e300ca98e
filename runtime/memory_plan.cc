#include "runtime/memory_plan.h"

#include <algorithm>
#include <numeric>

namespace lockstep {
namespace {

constexpr std::size_t kAlignment = 64;

std::size_t aligned(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

Offsets plan_offsets(const std::vector<Lifetime>& lifetimes) {
  std::vector<std::size_t> by_size(lifetimes.size());
  std::iota(by_size.begin(), by_size.end(), 0);
  std::stable_sort(by_size.begin(), by_size.end(), [&](std::size_t a, std::size_t b) {
    return lifetimes[a].bytes > lifetimes[b].bytes;
  });
  Offsets plan{std::vector<std::size_t>(lifetimes.size(), 0), 0};
  std::vector<std::size_t> placed;  // sorted by offset
  for (std::size_t index : by_size) {
    const Lifetime& item = lifetimes[index];
    const std::size_t bytes = aligned(item.bytes);
    std::size_t offset = 0;
    for (std::size_t other : placed) {
      const Lifetime& taken = lifetimes[other];
      if (taken.last < item.first || item.last < taken.first) continue;
      if (plan.offset[other] >= offset + bytes) break;
      offset = std::max(offset, plan.offset[other] + aligned(taken.bytes));
    }
    plan.offset[index] = offset;
    plan.total = std::max(plan.total, offset + bytes);
    placed.insert(std::upper_bound(placed.begin(), placed.end(), offset,
                                   [&](std::size_t at, std::size_t other) {
                                     return at < plan.offset[other];
                                   }),
                  index);
  }
  return plan;
}

Offsets separate_offsets(const std::vector<Lifetime>& lifetimes) {
  Offsets plan;
  for (const Lifetime& item : lifetimes) {
    plan.offset.push_back(plan.total);
    plan.total += aligned(item.bytes);
  }
  return plan;
}

}  // namespace lockstep
