// SPDX-License-Identifier: Apache-2.0
// Runs a plan. A run copies the feeds in, then follows the list of steps; everything is bound to
// memory before, by the first run and by those after arenas have moved. There are two: for kernels
// that run where they are called (thread_executor.h) and for asynchronous devices
// (queue_executor.h).
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/exec/arena_pool.h"
#include "runtime/exec/bound_plan.h"
#include "runtime/exec/masks.h"
#include "runtime/exec/states.h"
#include "runtime/exec/workers.h"
#include "runtime/plan/plan.h"

namespace lockstep {

using StepTimes = std::vector<double>;  // seconds, by position in Plan::steps

// The first value of a run, in plan order, that is not finite but should be (see masks.h).
struct NotFinite {
  int step = -1;          // in Plan::steps; -1: all are finite
  bool received = false;  // it was received: its sender knows more
  std::string text;       // 'cpu_1/conv2' (Conv on cpu:1): nan
};

struct RunOptions {
  RunContext context;
  NotFinite* not_finite = nullptr;  // if set, all values are checked and the first bad one is
                                    // stored here
  // If a loss is not finite because of a feed, throws an Error naming the feed.
  bool blame_feeds = true;
  StepTimes* times = nullptr;  // if set, each step's seconds are added here
  // Asynchronous devices: if set, the seconds until all of the step is enqueued are added here.
  double* host_seconds = nullptr;
  // Called on asynchronous devices only, once all of the step is enqueued, before it is awaited. It
  // may feed the next run ahead, so this run's feeds are not blamed. If it throws, the run fails.
  std::function<void()> meanwhile = nullptr;
  // The feeds are those that the last feed_ahead() was given.
  bool fed_ahead = false;
};

class Executor {
 public:
  virtual ~Executor() = default;

  const Plan& plan() const { return plan_; }

  // `feeds`: in the order of Plan::feeds. Rethrows kernels' exceptions.
  virtual void run(std::span<const Tensor> feeds, const RunOptions& options) = 0;

  // Asynchronous devices: begins to copy large feeds of the next run, beside one under way.
  // Afterwards the feeds' memory is free, although the next run is given the same ones.
  virtual void feed_ahead(std::span<const Tensor>) {}

  // In the order of Plan::fetches, in host memory; valid until the next run with these arenas.
  virtual std::span<const Tensor> fetches() const = 0;

  // Throws naming the block whose guard bytes a kernel overwrote (see CompileOptions::guard_bytes).
  // For a plan with arenas of its own.
  void check_guards(std::size_t guard_bytes) const;

 protected:
  Executor(Plan plan, States& state, std::shared_ptr<ArenaPool> arenas);

  // A literal's address for that worker.
  virtual void* literal(int literal, int worker) = 0;
  // Copies a part of a worker's arena to host memory.
  virtual void read_arena(int worker, std::size_t from, std::span<std::byte> to) const = 0;
  // Binds the plan if its arenas have moved since; true if they have.
  bool bind();
  // Before and after what a run does, of which the latter is left out if it failed. True if the
  // plan's own states are stale: Plan::refresh must run.
  bool begin_run();
  void end_run();
  // Throws if the number or shapes of the feeds differ from the plan's.
  void check_feeds(std::span<const Tensor> feeds) const;
  // The first value made by this step that is not finite but should be. Collectives in
  // parts are not examined.
  NotFinite not_finite_in(int step, std::span<const Tensor> made);

  Plan plan_;
  States& state_;
  const std::shared_ptr<ArenaPool> arenas_;
  BoundPlan bound_;
  Masks masks_;

 private:
  int bound_to_ = 0;               // ArenaPool::moves then
  std::vector<int> writes_;        // the session's states that the plan changes
  std::vector<int> refreshed_by_;  // those that its own states are made from
};

// Everything but the plan must outlive it. `accelerator`: that of the plan's devices, or null;
// `comm`: to other processes, or null; `arenas`: those it shares with other plans, or null.
std::unique_ptr<Executor> make_executor(Plan plan, States& state, Workers& workers,
                                        Accelerator* accelerator = nullptr, Comm* comm = nullptr,
                                        std::shared_ptr<ArenaPool> arenas = nullptr);

}  // namespace lockstep
