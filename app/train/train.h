// SPDX-License-Identifier: Apache-2.0
// lockstep train, behind its command line.
#pragma once

#include "app/trace/request.h"
#include "app/train/run_place.h"
#include "app/train/task.h"
#include "lockstep/processes.h"

namespace lockstep {

struct TrainOptions {
  Resume resume;
  bool quiet = false, debug = false;
  TraceRequest trace;
};

// Trains, tests and saves, and writes the run's files. With several processes rank 0 writes the
// files and the output; other ranks only train. Returns the program's exit code.
int train(Task& task, const TrainOptions& options, Comm* comm);

}  // namespace lockstep
