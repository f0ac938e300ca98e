// SPDX-License-Identifier: Apache-2.0
// The page of a plan: lanes of workers over time, and the arenas over the same time
// (docs/plan.md).
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "app/pages/arena_rectangles.h"
#include "app/pages/memory_need.h"
#include "app/pages/plan_timeline.h"
#include "graph/phases.h"
#include "runtime/plan/plan.h"
#include "runtime/plan/planned_memory.h"

namespace lockstep {

struct PlanPage {
  std::string title;
  PlanTimeline timeline;
  bool is_measured = false;
  std::string times;                     // where the times come from
  std::vector<Phase> phases;             // by step
  PlannedMemory memory;                  // with the loader
  std::size_t limit = 0;                 // bytes that there are; 0: not known
  std::vector<std::string> advice = {};  // on how to need less
  std::string graph = "";                // a link to the graph's page (page_link.h); "": none
  std::string command = "";              // that wrote the page
};
void write_page(std::ostream& out, const Plan& plan, const PlanPage& page);

// The sentences at the top of the page: the time of a step, what is exposed, the latest reduce, the
// memory.
std::vector<std::string> sentences_of(const Plan& plan, const PlanPage& page);

}  // namespace lockstep
