// SPDX-License-Identifier: Apache-2.0
// Episodes of all processes of a run, and sums over what all of them have collected.
#pragma once

#include <string>
#include <vector>

#include "data/episodes/environments.h"
#include "runtime/comm.h"

namespace lockstep {

std::string text_of(const std::vector<Episode>& episodes);
// Reads text_of(); throws naming `what` for another text.
std::vector<Episode> episodes_in(const std::string& text, const std::string& what);

// The episodes of all ranks, on every rank, in the order of their environments' numbers, so that
// they are the same in one process and in several. `comm` may be null.
std::vector<Episode> of_all_ranks(Comm* comm, const std::vector<Episode>& mine);

struct EpisodeMeans {
  double sum = 0, steps = 0;   // of the mean episode
  double least = 0, most = 0;  // sums
};
EpisodeMeans means_of(const std::vector<Episode>& episodes);  // of none: zeros

// Mean and standard deviation over all ranks' rows. Each of this rank's environments has `steps`
// consecutive rows; sums are added in the order of environments.
struct Spread {
  double mean = 0, deviation = 0;
};
Spread spread_of(Comm* comm, const std::vector<float>& rows, int64_t steps);

}  // namespace lockstep
