// One step for all processes of a run becomes one step for each of them.
#pragma once

#include "graph/training.h"

namespace lockstep {

struct ProcessShare {
  int rank = 0;
  int processes = 1;
};

// What process `rank` runs of `whole`, whose replicas are shared out in order, as evenly as they
// can be: its own replicas, now numbered from 0, and where a value crosses to or from another
// process the messages of operators/process. Names stay as they are. Every process must cut the
// same model; messages are numbered alike then. No exchange can wait in a circle: each waits only
// for what stands before it in the one graph that all were cut from.
TrainingModel partition(const TrainingModel& whole, const ProcessShare& share);

}  // namespace lockstep
