// SPDX-License-Identifier: Apache-2.0
#include "runtime/plan/offsets.h"

#include <algorithm>
#include <climits>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <utility>

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

// Moves the item with the highest end to the front: it was placed too late.
void move_highest_first(Order& order, const Offsets& plan, const std::vector<Lifetime>& lifetimes) {
  auto end = [&](std::size_t i) { return plan.offset[i] + aligned(lifetimes[i].bytes); };
  auto highest = std::max_element(order.begin(), order.end(),
                                  [&](std::size_t a, std::size_t b) { return end(a) < end(b); });
  std::rotate(order.begin(), highest, highest + 1);
}

// Free gaps between taken bytes, by size.
class Gaps {
 public:
  // Takes the smallest gap that fits, or extends the end.
  std::size_t take(std::size_t bytes) {
    auto found = by_size_.lower_bound({bytes, 0});
    if (found == by_size_.end()) {
      const auto last = by_offset_.empty() ? by_offset_.end() : std::prev(by_offset_.end());
      const bool extends = last != by_offset_.end() && last->first + last->second == end_;
      const std::size_t offset = extends ? last->first : end_;
      if (extends) remove(last);
      end_ = offset + bytes;
      return offset;
    }
    const auto [size, offset] = *found;
    remove(by_offset_.find(offset));
    if (size > bytes) insert(offset + bytes, size - bytes);
    return offset;
  }

  void give_back(std::size_t offset, std::size_t bytes) {
    if (bytes == 0) return;
    auto next = by_offset_.lower_bound(offset);
    if (next != by_offset_.end() && next->first == offset + bytes) {
      bytes += next->second;
      next = remove(next);
    }
    if (next != by_offset_.begin()) {
      const auto before = std::prev(next);
      if (before->first + before->second == offset) {
        offset = before->first;
        bytes += before->second;
        remove(before);
      }
    }
    insert(offset, bytes);
  }

  std::size_t end() const { return end_; }

 private:
  using ByOffset = std::map<std::size_t, std::size_t>;

  void insert(std::size_t offset, std::size_t bytes) {
    by_offset_[offset] = bytes;
    by_size_.insert({bytes, offset});
  }
  ByOffset::iterator remove(ByOffset::iterator gap) {
    by_size_.erase({gap->second, gap->first});
    return by_offset_.erase(gap);
  }

  ByOffset by_offset_;
  std::set<std::pair<std::size_t, std::size_t>> by_size_;  // bytes, offset
  std::size_t end_ = 0;
};

// Assigns offsets in one walk through time, for graphs too large to compare lifetimes pairwise.
Offsets place_by_time(const std::vector<Lifetime>& lifetimes) {
  auto by_first = [&](std::size_t a, std::size_t b) {
    return lifetimes[a].first < lifetimes[b].first ||
           (lifetimes[a].first == lifetimes[b].first && lifetimes[a].bytes > lifetimes[b].bytes);
  };
  auto by_last = [&](std::size_t a, std::size_t b) {
    return lifetimes[a].last < lifetimes[b].last;
  };
  const Order starts = order_by(lifetimes.size(), by_first);
  const Order ends = order_by(lifetimes.size(), by_last);
  Offsets plan{std::vector<std::size_t>(lifetimes.size(), 0), 0};
  Gaps gaps;
  std::size_t gone = 0;
  for (std::size_t index : starts) {
    for (; lifetimes[ends[gone]].last < lifetimes[index].first; ++gone)
      gaps.give_back(plan.offset[ends[gone]], aligned(lifetimes[ends[gone]].bytes));
    const std::size_t bytes = aligned(lifetimes[index].bytes);
    if (bytes > 0) plan.offset[index] = gaps.take(bytes);
  }
  plan.total = gaps.end();
  return plan;
}

// Returns the number of improvement rounds: a few milliseconds of work for any size of graph.
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
  return most;
}

Offsets plan_offsets(const std::vector<Lifetime>& lifetimes) {
  constexpr std::size_t kMostCompared = 8192;  // a tenth of a second
  if (lifetimes.size() > kMostCompared) return place_by_time(lifetimes);
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
