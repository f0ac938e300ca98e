// SPDX-License-Identifier: Apache-2.0
// Partitions one step of a whole run into one step for each process.
#pragma once

#include "graph/training.h"

namespace lockstep {

struct ProcessShare {
  int rank = 0;
  int processes = 1;
};

// Of a Copy whose shape the batch decides: the name of a value on the receiving replica that has
// the same shape, wherever it is made. Only if shares of the batch are equal.
inline constexpr const char* kShapedLike = "__shaped_like";

// Process `rank`'s part of `whole`, whose replicas are shared out in order, as evenly as possible:
// its own replicas, renumbered from 0, with messages of operators/process for each value that
// crosses. Names stay unchanged. Every process must cut the same model, so that messages get the
// same numbers. Exchanges cannot deadlock: each waits only for nodes before it in the one graph
// that all were cut from.
TrainingModel partition(const TrainingModel& whole, const ProcessShare& share);

}  // namespace lockstep
