// SPDX-License-Identifier: Apache-2.0
#include "runtime/plan/makers.h"

#include <algorithm>

namespace lockstep {

// The steps of views are dropped from a plan, so the slot of a view has no writer. The last writer
// of the slot's block made the value. The parts of a collective follow each other, and read before
// any of them counts as a writer.
std::vector<std::vector<int>> makers_of_steps(const Plan& plan) {
  std::vector<std::vector<int>> by_slot(plan.slots.size()), by_block(plan.blocks.size());
  std::vector<std::vector<int>> makers(plan.steps.size());
  const auto block_of = [&](int slot) {
    return plan.slots[slot].storage == Storage::in_arena ? plan.slots[slot].index : -1;
  };
  const int count = static_cast<int>(plan.steps.size());
  for (int first = 0, end = 0; first < count; first = end) {
    end = first + std::max(plan.steps[first].parts, 1);
    std::vector<int> parts;
    for (int step = first; step < end; ++step) {
      parts.push_back(step);
      std::vector<int>& mine = makers[step];
      for (const int slot : plan.steps[step].in) {
        if (slot < 0) continue;
        const int block = block_of(slot);
        const std::vector<int>& made =
            by_slot[slot].empty() && block >= 0 ? by_block[block] : by_slot[slot];
        mine.insert(mine.end(), made.begin(), made.end());
      }
      std::ranges::sort(mine);
      mine.erase(std::unique(mine.begin(), mine.end()), mine.end());
    }
    for (const int slot : plan.steps[first].out) {
      if (slot < 0) continue;
      by_slot[slot] = parts;
      if (const int block = block_of(slot); block >= 0) by_block[block] = parts;
    }
  }
  return makers;
}

std::vector<std::vector<int>> users_of_steps(const std::vector<std::vector<int>>& makers) {
  std::vector<std::vector<int>> users(makers.size());
  for (std::size_t user = 0; user < makers.size(); ++user)
    for (const int maker : makers[user]) users[maker].push_back(static_cast<int>(user));
  return users;
}

}  // namespace lockstep
