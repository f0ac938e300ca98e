// SPDX-License-Identifier: Apache-2.0
// The arenas of a plan over time: a rectangle for each block, from its first use to its last.
#pragma once

#include <vector>

#include "app/pages/plan_timeline.h"
#include "runtime/plan/plan.h"

namespace lockstep {

struct ArenaRectangle {
  int block = 0;                // place and size
  double begins = 0, ends = 0;  // seconds
  std::vector<int> slots = {};  // the values in the block, first written first
  int producer = -1;            // the step that writes first; -1: fed
  int last_user = -1;           // -1: no step
  bool is_workspace = false;    // of one step, without values
};

// Blocks that no step of the run uses are left out. A fed value is there from the begin, a fetched
// value until the end.
std::vector<ArenaRectangle> rectangles_of(const Plan& plan, const PlanTimeline& timeline);

// The most bytes of one worker's arena that are used at the same time.
struct ArenaPeak {
  std::size_t bytes = 0;
  double at = 0;  // since then, in seconds
};
ArenaPeak peak_of(const Plan& plan, const std::vector<ArenaRectangle>& rectangles, int worker);

}  // namespace lockstep
