// SPDX-License-Identifier: Apache-2.0
#include "app/pages/arena_rectangles.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace lockstep {
namespace {

class RectangleFinder {
 public:
  RectangleFinder(const Plan& plan, const PlanTimeline& timeline)
      : plan_(plan), timeline_(timeline), found_(plan.blocks.size()) {
    for (std::size_t i = 0; i < found_.size(); ++i)
      found_[i] = {static_cast<int>(i), kNever, -kNever};
  }

  std::vector<ArenaRectangle> find() {
    for (const int slot : plan_.feeds)
      if (ArenaRectangle* rectangle = of_slot(slot)) use(*rectangle, slot, 0, 0);
    for (std::size_t i = 0; i < plan_.steps.size(); ++i) use_by(static_cast<int>(i));
    for (const int slot : plan_.fetches)
      if (ArenaRectangle* rectangle = of_slot(slot))
        use(*rectangle, slot, timeline_.seconds, timeline_.seconds);
    std::erase_if(found_, [&](const ArenaRectangle& rectangle) {
      return rectangle.begins > rectangle.ends || plan_.blocks[rectangle.block].bytes == 0;
    });
    return std::move(found_);
  }

 private:
  static constexpr double kNever = std::numeric_limits<double>::infinity();

  ArenaRectangle* of_slot(int slot) {
    if (slot < 0 || plan_.slots[slot].storage != Storage::in_arena) return nullptr;
    return &found_[plan_.slots[slot].index];
  }

  static void use(ArenaRectangle& rectangle, int slot, double begins, double ends) {
    rectangle.begins = std::min(rectangle.begins, begins);
    rectangle.ends = std::max(rectangle.ends, ends);
    if (slot >= 0 && std::ranges::find(rectangle.slots, slot) == rectangle.slots.end())
      rectangle.slots.push_back(slot);
  }

  void use_by(int number) {
    const PlanStep& step = plan_.steps[number];
    const PlacedStep& placed = timeline_.steps[number];
    const auto used = [&](ArenaRectangle& rectangle, int slot) {
      const bool is_new = rectangle.begins > rectangle.ends;
      use(rectangle, slot, placed.begins, placed.ends);
      if (is_new) rectangle.producer = number;
      // Of two users that end together the later in the plan's order counts.
      if (rectangle.last_user < 0 || placed.ends >= timeline_.steps[rectangle.last_user].ends)
        rectangle.last_user = number;
    };
    for (const auto* slots : {&step.in, &step.out})
      for (const int slot : *slots)
        if (ArenaRectangle* rectangle = of_slot(slot)) used(*rectangle, slot);
    if (step.workspace < 0) return;
    found_[step.workspace].is_workspace = true;
    used(found_[step.workspace], -1);
  }

  const Plan& plan_;
  const PlanTimeline& timeline_;
  std::vector<ArenaRectangle> found_;
};

}  // namespace

std::vector<ArenaRectangle> rectangles_of(const Plan& plan, const PlanTimeline& timeline) {
  return RectangleFinder(plan, timeline).find();
}

ArenaPeak peak_of(const Plan& plan, const std::vector<ArenaRectangle>& rectangles, int worker) {
  // Bytes that come and go by time; at one time they go first.
  std::vector<std::pair<double, int64_t>> changes;
  for (const ArenaRectangle& rectangle : rectangles) {
    const Block& block = plan.blocks[rectangle.block];
    if (block.worker != worker) continue;
    const auto bytes = static_cast<int64_t>(block.bytes);
    changes.emplace_back(rectangle.begins, bytes);
    changes.emplace_back(rectangle.ends, -bytes);
  }
  std::ranges::sort(changes);
  ArenaPeak peak;
  int64_t used = 0;
  for (const auto& [at, bytes] : changes) {
    used += bytes;
    if (used > static_cast<int64_t>(peak.bytes)) peak = {static_cast<std::size_t>(used), at};
  }
  return peak;
}

}  // namespace lockstep
