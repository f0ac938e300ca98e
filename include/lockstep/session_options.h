// SPDX-License-Identifier: Apache-2.0
// Options of a session: how steps are planned (CompileOptions) and how a step runs (RunOptions).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "lockstep/kernel.h"

namespace lockstep {

// Options of plans. Several switch an optimisation off, for tests and comparisons.
struct CompileOptions {
  int threads = 1;              // of each CPU replica; set by the session
  bool reuse_memory = true;     // false: no two values share bytes
  bool alias = true;            // false: no views, nothing in place
  bool layouts = true;          // false: every tensor row-major
  bool state_layouts = true;    // false: every state row-major
  bool rewrites = true;         // false: no fusion
  bool share = true;            // false: every replica has a separate copy of each state
  bool tf32 = false;            // KernelRequest::tf32
  bool exact = false;           // KernelRequest::exact
  bool record = true;           // false: a GPU's step is not recorded and replayed
  std::size_t guard_bytes = 0;  // unused bytes around every block of memory; for tests
};

// Seconds, by the step's number in the plan.
using StepTimes = std::vector<double>;

// The first value of a run, in the order of the plan, that is not finite but should be.
struct NotFinite {
  int step = -1;          // of the plan; -1: all values are finite
  bool received = false;  // true: received from another process, which reports the origin
  std::string text;       // 'cpu_1/conv2' (Conv on cpu:1): nan
};

struct RunOptions {
  RunContext context;  // seed and step: Session::run_options()
  // If set, all values are checked and the first non-finite value is stored here.
  NotFinite* not_finite = nullptr;
  // If a loss is not finite because of a feed, throws an Error naming the feed.
  bool blame_feeds = true;
  StepTimes* times = nullptr;  // if set, the seconds of each of the plan's steps are added here
  // Asynchronous devices: if set, the seconds until all of the step is enqueued are added here.
  double* host_seconds = nullptr;
  // Called on asynchronous devices only, once all of the step is enqueued, before it is awaited.
  // The callback may feed the next run ahead, so this run's feeds are not blamed. If it throws, the
  // run fails.
  std::function<void()> meanwhile = nullptr;
  // True if the feeds are the ones given to the last feed_ahead().
  bool fed_ahead = false;
};

struct SessionOptions {
  uint64_t seed = 1;
  int threads = 0;  // per CPU replica; 0: an equal share of the cores
  CompileOptions compile = {};
  // To the other processes of the run, for a model cut for one process (partition() in
  // data_parallel.h); must outlive the session.
  Comm* comm = nullptr;
};

}  // namespace lockstep
