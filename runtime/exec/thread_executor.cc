// SPDX-License-Identifier: Apache-2.0
#include "runtime/exec/thread_executor.h"

#include <algorithm>
#include <climits>
#include <cstring>
#include <utility>

#include "lockstep/error.h"
#include "lockstep/session_options.h"
#include "runtime/exec/states.h"
#include "runtime/exec/workers.h"
#include "runtime/nanoseconds.h"
#include "runtime/plan/plan.h"

namespace lockstep {
namespace {

constexpr int kSpins = 200;  // before a waiting worker sleeps

}  // namespace

ThreadExecutor::ThreadExecutor(Plan plan, States& state, Workers& workers,
                               std::shared_ptr<ArenaPool> arenas)
    : Executor(std::move(plan), state, std::move(arenas)),
      workers_(workers),
      progress_(plan_.workers.size()) {}

void ThreadExecutor::run(std::span<const Tensor> feeds, const RunOptions& options) {
  if (spans_) {
    spans_->plan = held_;
    spans_->steps.assign(plan_.steps.size(), {});
    spans_->begins = nanoseconds_now();
  }
  check_feeds(feeds);
  bind();
  for (std::size_t i = 0; i < feeds.size(); ++i)
    if (bound_.feeds[i].data && feeds[i].count() > 0)
      std::memcpy(bound_.feeds[i].data, feeds[i].data, feeds[i].desc.bytes());
  rebind_views(bound_, plan_);
  options_ = options;
  for (Progress& progress : progress_) progress.done.store(0, std::memory_order_relaxed);
  first_failure_.store(INT_MAX, std::memory_order_relaxed);
  failure_ = nullptr;
  first_not_finite_.store(INT_MAX, std::memory_order_relaxed);
  if (options.not_finite) {
    *options.not_finite = {};
    intended_infinities_.begin(plan_);
  }
  if (begin_run()) {
    workers_.run(
        [](void* self, int worker) { static_cast<ThreadExecutor*>(self)->refresh(worker); }, this);
    if (failure_) std::rethrow_exception(failure_);
  }
  workers_.run([](void* self, int worker) { static_cast<ThreadExecutor*>(self)->work(worker); },
               this);
  if (failure_) std::rethrow_exception(failure_);
  end_run();
  const int64_t ends = nanoseconds_now();
  sum_up_waits(ends);
  if (spans_) spans_->ends = ends;
}

// A worker that has finished early waits for the others, too.
void ThreadExecutor::sum_up_waits(int64_t ends) {
  int64_t least = INT64_MAX;
  for (std::size_t i = 0; i < progress_.size(); ++i)
    if (!plan_.workers[i].communicates() && !plan_.workers[i].steps.empty())
      least = std::min(least, progress_[i].blocked + ends - progress_[i].ends);
  waited_ = least == INT64_MAX ? 0 : static_cast<double>(least) * 1e-9;
}

// The main loop. A worker continues until it is past the earliest failure, so that the error thrown
// is the first in plan order for any timing. Between two steps the loop reads only locals and
// prefetched data: kernels have evicted the members from the caches.
void ThreadExecutor::work(int worker) {
  if (worker >= static_cast<int>(plan_.workers.size())) return;  // nothing to exchange
  const std::span<const int> mine = plan_.workers[worker].steps;
  const std::span<const BoundStep> steps = bound_.run.steps;
  const RunContext context = options_.context;
  double* const times = options_.times ? options_.times->data() : nullptr;
  StepSpan* const spans = spans_ ? spans_->steps.data() : nullptr;
  const bool alone = progress_.size() == 1, looks = options_.not_finite != nullptr;
  const bool timed = times || spans;
  int64_t blocked = 0, turned = spans ? nanoseconds_now() : 0;
  for (std::size_t i = 0; i < mine.size(); ++i) {
    const int number = mine[i], next = mine[std::min(i + 1, mine.size() - 1)];
    const BoundStep& step = steps[number];
    for (const Wait& wait : step.waits) blocked += wait_for(wait);
    if (!alone && number > first_failure_.load(std::memory_order_acquire)) break;
    try {
      const int64_t begins = timed ? nanoseconds_now() : 0;
      step.kernel->run({step.in, step.out, step.workspace, context});
      __builtin_prefetch(&steps[next]);
      if (times) __builtin_prefetch(&times[number], 1);
      if (timed) {
        const int64_t ends = nanoseconds_now();
        if (times) times[number] += static_cast<double>(ends - begins) * 1e-9;
        if (spans) spans[number] = {std::exchange(turned, ends), begins, ends};
      }
      if (looks) look_at(number);
    } catch (...) {
      note_failure(number, std::current_exception());
      break;
    }
    if (!alone) advance(worker, static_cast<int>(i) + 1);
  }
  progress_[worker].blocked = blocked;
  progress_[worker].ends = nanoseconds_now();
  advance(worker, INT_MAX);  // releases all workers that wait for this one
}

// Runs the worker's refresh steps. All workers finish before any begins a step, so no step waits
// for them.
void ThreadExecutor::refresh(int worker) {
  constexpr int kBeforeAllSteps = -1;
  try {
    for (std::size_t i = 0; i < plan_.refresh.size(); ++i)
      if (plan_.refresh[i].worker == worker) {
        const BoundStep& step = bound_.refresh.steps[i];
        step.kernel->run({step.in, step.out, step.workspace, options_.context});
      }
  } catch (...) {
    note_failure(kBeforeAllSteps, std::current_exception());
  }
}

// Returns the duration of the wait, in nanoseconds. A wait that is over costs no look at the clock.
int64_t ThreadExecutor::wait_for(const Wait& wait) {
  std::atomic<int>& done = progress_[wait.worker].done;
  if (done.load(std::memory_order_acquire) > wait.step) return 0;
  const int64_t since = nanoseconds_now();
  for (int spin = 0; spin < kSpins; ++spin) {
    if (done.load(std::memory_order_acquire) > wait.step) return nanoseconds_now() - since;
    __builtin_ia32_pause();
  }
  for (int seen = done.load(std::memory_order_acquire); seen <= wait.step;
       seen = done.load(std::memory_order_acquire))
    done.wait(seen, std::memory_order_acquire);
  return nanoseconds_now() - since;
}

void ThreadExecutor::advance(int worker, int done) {
  progress_[worker].done.store(done, std::memory_order_release);
  progress_[worker].done.notify_all();
}

// Skips steps after the first bad value: their values may follow from it.
void ThreadExecutor::look_at(int step) {
  if (step > first_not_finite_.load(std::memory_order_acquire)) return;
  NotFinite found = not_finite_in(step, bound_.run.steps[step].out);
  if (found.step < 0) return;
  const std::lock_guard lock(first_mutex_);
  if (step < first_not_finite_.load(std::memory_order_relaxed)) {
    first_not_finite_.store(step, std::memory_order_release);
    *options_.not_finite = std::move(found);
  }
}

void ThreadExecutor::note_failure(int step, std::exception_ptr error) {
  const std::lock_guard lock(first_mutex_);
  if (step < first_failure_.load(std::memory_order_relaxed)) {
    first_failure_.store(step, std::memory_order_release);
    failure_ = std::move(error);
  }
}

}  // namespace lockstep
