// SPDX-License-Identifier: Apache-2.0
// Episodes of all processes of a run, and sums over the rows of all processes.
#pragma once

#include <string>
#include <vector>

#include "lockstep/episodes.h"
#include "lockstep/processes.h"

namespace lockstep {

std::string text_of(const std::vector<Episode>& episodes);
// Parses the text of text_of(). Throws an error that names `what` for any other text.
std::vector<Episode> episodes_in(const std::string& text, const std::string& what);

// The episodes of all ranks, on every rank, ordered by environment: the order does not depend on
// the number of processes. `comm` may be null.
std::vector<Episode> of_all_ranks(Comm* comm, const std::vector<Episode>& mine);

struct EpisodeMeans {
  double sum = 0, steps = 0;   // means
  double least = 0, most = 0;  // smallest and largest sum
};
EpisodeMeans means_of(const std::vector<Episode>& episodes);  // zeros if there are none

// Mean and standard deviation over all ranks' rows. Each of this rank's environments has `steps`
// consecutive rows; sums are added in the order of environments.
struct Spread {
  double mean = 0, deviation = 0;
};
Spread spread_of(Comm* comm, const std::vector<float>& rows, int64_t steps);

}  // namespace lockstep
