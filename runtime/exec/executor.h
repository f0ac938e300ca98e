// Runs a plan. Everything is bound when an executor is made: a run copies the feeds in, then steps
// follow their lists. There are two of them, for kernels that work where they are called
// (thread_executor.h) and for devices that work behind the host's back (queue_executor.h).
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/exec/masks.h"
#include "runtime/exec/workers.h"
#include "runtime/plan/plan.h"
#include "runtime/state/states.h"

namespace lockstep {

using StepTimes = std::vector<double>;  // seconds, by position in Plan::steps

// The first value of a run, in the plan's order, that is not finite and should be (see masks.h).
struct NotFinite {
  int step = -1;          // in Plan::steps; -1: all are finite
  bool received = false;  // it came by an exchange: whoever sent it knows more
  std::string text;       // 'cpu_1/conv2' (Conv on cpu:1): nan
};

struct RunOptions {
  RunContext context;
  NotFinite* not_finite = nullptr;  // all values are looked at, and the first is told here
  // A loss that is not finite because a feed is not is an Error that names the feed.
  bool blame_feeds = true;
  StepTimes* times = nullptr;  // what each step takes is added here
  // Where devices work behind the host's back: seconds until all of the step is theirs are added.
  double* host_seconds = nullptr;
};

class Executor {
 public:
  virtual ~Executor() = default;

  const Plan& plan() const { return plan_; }

  // `feeds` in the order of Plan::feeds. Throws what a kernel threw.
  virtual void run(std::span<const Tensor> feeds, const RunOptions& options) = 0;

  // In the order of Plan::fetches, in the host's memory; valid until the next run.
  virtual std::span<const Tensor> fetches() const = 0;

  // Throws naming the block whose guard bytes a kernel wrote to (see CompileOptions::guard_bytes).
  void check_guards(std::size_t guard_bytes) const;

 protected:
  explicit Executor(Plan plan) : plan_(std::move(plan)) {}

  static constexpr auto kGuard = std::byte{0xA5};  // what arenas are full of at first
  // Where a worker's arena can be read by the host.
  virtual const std::byte* arena_to_read(int worker) const = 0;
  // Throws where number or shapes of the feeds are not the plan's.
  void check_feeds(std::span<const Tensor> feeds) const;
  // The first of the values that this step made.
  NotFinite first_of(int step, std::span<const Tensor> made);

  Plan plan_;
  Masks masks_;
};

// All but the plan must outlive it. `accelerator` is that of the plan's devices, or null; `comm`
// leads to other processes, or is null.
std::unique_ptr<Executor> make_executor(Plan plan, const States& state, Workers& workers,
                                        Accelerator* accelerator = nullptr, Comm* comm = nullptr);

}  // namespace lockstep
