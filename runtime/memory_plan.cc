#include "runtime/memory_plan.h"

#include <algorithm>
#include <climits>
#include <map>
#include <numeric>

namespace lockstep {
namespace {

constexpr std::size_t kAlignment = 64;

std::size_t aligned(std::size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

using Order = std::vector<std::size_t>;

Offsets place_in(const Order& order, const std::vector<Lifetime>& lifetimes) {
  Offsets plan{std::vector<std::size_t>(lifetimes.size(), 0), 0};
  Order placed;  // sorted by offset
  for (std::size_t index : order) {
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
    placed.insert(std::upper_bound(
                      placed.begin(), placed.end(), offset,
                      [&](std::size_t at, std::size_t other) { return at < plan.offset[other]; }),
                  index);
  }
  return plan;
}

template <class Less>
Order order_by(std::size_t count, Less less) {
  Order order(count);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), less);
  return order;
}

// The item that reaches highest is the one that was placed too late: it goes to the front.
void move_highest_first(Order& order, const Offsets& plan, const std::vector<Lifetime>& lifetimes) {
  auto end = [&](std::size_t i) { return plan.offset[i] + aligned(lifetimes[i].bytes); };
  auto highest = std::max_element(order.begin(), order.end(),
                                  [&](std::size_t a, std::size_t b) { return end(a) < end(b); });
  std::rotate(order.begin(), highest, highest + 1);
}

// Improvement is worth some milliseconds, whatever the size of the graph.
int rounds_for(std::size_t count) {
  const double square = static_cast<double>(count) * static_cast<double>(count);
  return static_cast<int>(std::clamp(4e6 / (square + 1), 2.0, 100.0));
}

}  // namespace

std::size_t most_alive(const std::vector<Lifetime>& lifetimes) {
  std::map<int, std::ptrdiff_t> change;  // at a time
  for (const Lifetime& item : lifetimes) {
    change[item.first] += static_cast<std::ptrdiff_t>(aligned(item.bytes));
    if (item.last < INT_MAX)
      change[item.last + 1] -= static_cast<std::ptrdiff_t>(aligned(item.bytes));
  }
  std::ptrdiff_t alive = 0, most = 0;
  for (const auto& [time, bytes] : change) most = std::max(most, alive += bytes);
  return static_cast<std::size_t>(most);
}

Offsets plan_offsets(const std::vector<Lifetime>& lifetimes) {
  const std::size_t count = lifetimes.size(), bound = most_alive(lifetimes);
  auto by_size = [&](std::size_t a, std::size_t b) {
    return lifetimes[a].bytes > lifetimes[b].bytes;
  };
  auto by_start = [&](std::size_t a, std::size_t b) {
    return lifetimes[a].first < lifetimes[b].first;
  };
  auto by_end = [&](std::size_t a, std::size_t b) { return lifetimes[a].last > lifetimes[b].last; };
  Offsets best;
  for (Order order :
       {order_by(count, by_size), order_by(count, by_start), order_by(count, by_end)}) {
    for (int round = 0; round < rounds_for(count); ++round) {
      Offsets plan = place_in(order, lifetimes);
      if (best.offset.empty() || plan.total < best.total) best = plan;
      if (best.total == bound || count == 0) return best;
      move_highest_first(order, plan, lifetimes);
    }
  }
  return best;
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
