// Runs a plan. Everything is bound when it is made: a run copies the feeds in, then each worker
// walks its list of steps. No allocation, no name, no lock.
#pragma once

#include <atomic>
#include <exception>
#include <span>
#include <string>
#include <vector>

#include "runtime/memory.h"
#include "runtime/plan.h"
#include "runtime/state.h"
#include "runtime/workers.h"

namespace lockstep {

using StepTimes = std::vector<double>;  // seconds, by position in Plan::steps

struct RunOptions {
  RunContext context;
  bool check_finite = false;   // stop at the first value that is not finite
  StepTimes* times = nullptr;  // what each step takes is added here
};

class Executor {
 public:
  // `state` and `workers` must outlive the executor.
  Executor(Plan plan, const StateStore& state, Workers& workers);

  const Plan& plan() const { return plan_; }

  // `feeds` in the order of Plan::feeds. Throws what a kernel threw; with check_finite, an Error
  // that names the first value, in plan order, that is not finite.
  void run(std::span<const Tensor> feeds, const RunOptions& options);

  // In the order of Plan::fetches; valid until the next run.
  std::span<const Tensor> fetches() const { return fetches_; }

  // Throws naming the block whose guard bytes a kernel wrote to (see CompileOptions::guard_bytes).
  void check_guards(std::size_t guard_bytes) const;

 private:
  struct BoundStep {
    std::vector<Tensor> in;
    std::vector<Tensor> out;
    std::byte* workspace = nullptr;
  };
  struct alignas(64) Progress {
    std::atomic<int> done{0};
  };

  Tensor bind(int slot) const;
  void work(int worker);
  void wait_for(const Wait& wait);
  void advance(int worker, int done);
  bool finite(const BoundStep& step) const;
  void note_failure(int step, std::exception_ptr error);

  Plan plan_;
  const StateStore& state_;
  Workers& workers_;
  std::vector<Memory> arenas_;
  std::vector<BoundStep> steps_;
  std::vector<Tensor> feed_slots_;
  std::vector<Tensor> fetches_;
  std::vector<Progress> progress_;
  RunOptions options_;
  std::atomic_flag failure_lock_ = ATOMIC_FLAG_INIT;
  std::atomic<int> first_failure_{0};  // step number
  std::exception_ptr failure_;
};

}  // namespace lockstep
