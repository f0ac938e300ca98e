// SPDX-License-Identifier: Apache-2.0
// The sections of a report about the plan of a run's step, and about its last trace, as HTML.
#pragma once

#include <string>
#include <vector>

#include "app/trace/rank_trace.h"
#include "app/trace/request.h"
#include "lockstep/training_model.h"
#include "runtime/plan/plan.h"

namespace lockstep {

// Times of the plan are predicted. `folder`: of the run, whose configuration the command that shows
// more reads.
std::string section_of(const Plan& plan, const TrainingModel& model, const std::string& folder);

// The numbers of a trace, without its slices.
struct TraceSummary {
  struct Rank {
    int rank = 0;
    std::string host = "";
    std::vector<std::pair<std::string, double>> milliseconds = {};  // RankTrace::summary
  };
  std::string file;
  TracedSteps steps;
  std::vector<Rank> ranks;
};
TraceSummary summary_of(const std::vector<RankTrace>& ranks, const std::string& file,
                        TracedSteps steps);

// Time by phase and waits of each rank, and the slowest rank.
std::string section_of(const TraceSummary& summary);

}  // namespace lockstep
