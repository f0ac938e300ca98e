// SPDX-License-Identifier: Apache-2.0
// Runs a plan with kernels that run in the calling thread. Each worker is a thread that walks its
// list of steps. No allocations, no names; a lock only for errors.
#pragma once

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>

#include "lockstep/session_options.h"
#include "runtime/exec/executor.h"
#include "runtime/exec/states.h"
#include "runtime/exec/workers.h"
#include "runtime/plan/plan.h"

namespace lockstep {

class ThreadExecutor final : public Executor {
 public:
  ThreadExecutor(Plan plan, States& state, Workers& workers, std::shared_ptr<ArenaPool> arenas);

  void run(std::span<const Tensor> feeds, const RunOptions& options) override;
  std::span<const Tensor> fetches() const override { return bound_.fetches; }
  double waited() const override { return waited_; }

 private:
  // Times in nanoseconds_now(), written by the worker.
  struct alignas(64) Progress {
    std::atomic<int> done{0};
    int64_t blocked = 0;  // time spent in waits for other workers
    int64_t ends = 0;     // end of the worker's last step
  };

  void* literal(int literal, int) override { return plan_.literals[literal].bytes().data(); }
  void read_arena(int worker, std::size_t from, std::span<std::byte> to) const override {
    std::copy_n(arenas_->arena(worker) + from, to.size(), to.data());
  }
  void work(int worker);
  void refresh(int worker);
  int64_t wait_for(const Wait& wait);
  void sum_up_waits(int64_t ends);
  void advance(int worker, int done);
  void look_at(int step);
  void note_failure(int step, std::exception_ptr error);

  Workers& workers_;
  std::vector<Progress> progress_;
  RunOptions options_;
  std::mutex first_mutex_;             // protects the first failure and the first non-finite value
  std::atomic<int> first_failure_{0};  // step number
  std::exception_ptr failure_;
  std::atomic<int> first_not_finite_{0};
  double waited_ = 0;
};

}  // namespace lockstep
