// SPDX-License-Identifier: Apache-2.0
// The traces of all ranks, on rank 0.
#pragma once

#include <vector>

#include "app/trace/rank_trace.h"
#include "lockstep/processes.h"

namespace lockstep {

// Returns the traces of all processes on rank 0; empty on other ranks. All processes make the same
// call; `comm` is null for a single process. A trace that cannot be packed or read leaves its rank
// without rows (RankTrace::missing); only a lost rank is an error.
std::vector<RankTrace> gather_traces(RankTrace mine, Comm* comm);

}  // namespace lockstep
