// SPDX-License-Identifier: Apache-2.0
// A small, static picture of a plan as SVG: lanes of workers over time, and the fullest arena over
// the same time. For reports of runs; the page (plan_page.h) shows everything.
#pragma once

#include <string>
#include <vector>

#include "app/pages/plan_timeline.h"

namespace lockstep {

// Colours are the report's CSS variables; stripes tell phases apart without colours. The size does
// not grow with the plan's: steps thinner than a pixel are joined, and at most 12 workers are
// drawn.
std::string picture_of(const Plan& plan, const PlanTimeline& timeline,
                       const std::vector<Phase>& phases);

}  // namespace lockstep
