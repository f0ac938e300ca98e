// SPDX-License-Identifier: Apache-2.0
// Runs a plan. A run copies the feeds in, then follows the list of steps. Steps are bound to memory
// before: by the first run, and by the first run after arenas have moved. There are two executors:
// for kernels that run in the calling thread (thread_executor.h) and for asynchronous devices
// (queue_executor.h).
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lockstep/processes.h"
#include "lockstep/session_options.h"
#include "runtime/accelerator.h"
#include "runtime/exec/arena_pool.h"
#include "runtime/exec/bound_plan.h"
#include "runtime/exec/intended_infinities.h"
#include "runtime/exec/run_spans.h"
#include "runtime/exec/states.h"
#include "runtime/exec/workers.h"
#include "runtime/plan/plan.h"

namespace lockstep {

class Executor {
 public:
  virtual ~Executor() = default;

  const Plan& plan() const { return plan_; }

  // Sets the place for the times of the next run; null: they are not recorded.
  void record(RunSpans* spans) { spans_ = spans; }
  // Plans whose kernels run in the calling thread: the seconds of the last run in which the busiest
  // replica waited for other workers. Otherwise 0.
  virtual double waited() const { return 0; }

  // `feeds`: in the order of Plan::feeds. Rethrows kernels' exceptions.
  virtual void run(std::span<const Tensor> feeds, const RunOptions& options) = 0;

  // Asynchronous devices: starts to copy large feeds of the next run, while a run may be under way.
  // Afterwards the caller may reuse the feeds' memory, although the next run gets the same feeds.
  virtual void feed_ahead(std::span<const Tensor>) {}

  // The fetched values, in the order of Plan::fetches, in host memory. Valid until the next run
  // with these arenas.
  virtual std::span<const Tensor> fetches() const = 0;

  // Throws, naming the block, if a kernel overwrote its guard bytes (CompileOptions::guard_bytes).
  // Only for a plan with separate arenas.
  void check_guards(std::size_t guard_bytes) const;

 protected:
  Executor(Plan plan, States& state, std::shared_ptr<ArenaPool> arenas);

  // Returns a literal's address for a worker.
  virtual void* literal(int literal, int worker) = 0;
  // Copies a part of a worker's arena to host memory.
  virtual void read_arena(int worker, std::size_t from, std::span<std::byte> to) const = 0;
  // Binds the plan if its arenas have moved since the last call. Returns true if they have.
  bool bind();
  // Called before and after each run; end_run() is skipped if the run fails. begin_run() returns
  // true if the plan's own states are stale: Plan::refresh must run.
  bool begin_run();
  void end_run();
  // Throws if the number or shapes of the feeds differ from the plan's.
  void check_feeds(std::span<const Tensor> feeds) const;
  // Returns the first value made by the step that is not finite but should be. Collectives in parts
  // are not checked.
  NotFinite not_finite_in(int step, std::span<const Tensor> made);

  // Traces may outlive the executor, but not the session's devices.
  const std::shared_ptr<Plan> held_;
  Plan& plan_;
  States& state_;
  const std::shared_ptr<ArenaPool> arenas_;
  BoundPlan bound_;
  IntendedInfinities intended_infinities_;
  RunSpans* spans_ = nullptr;  // of the run that begins next, or is under way

 private:
  int bound_to_ = 0;               // ArenaPool::moves at the last bind()
  std::vector<int> writes_;        // states of the session that the plan changes
  std::vector<int> refreshed_by_;  // states of the session that Plan::refresh reads
};

// Everything but the plan must outlive the executor. `accelerator`: of the plan's devices, or null.
// `comm`: to other processes, or null. `arenas`: shared with other plans, or null.
std::unique_ptr<Executor> make_executor(Plan plan, States& state, Workers& workers,
                                        Accelerator* accelerator = nullptr, Comm* comm = nullptr,
                                        std::shared_ptr<ArenaPool> arenas = nullptr);

}  // namespace lockstep
