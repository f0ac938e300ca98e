#include "runtime/executor.h"

#include <chrono>
#include <climits>
#include <cmath>
#include <cstring>

#include "graph/error.h"

namespace lockstep {
namespace {

constexpr int kSpins = 200;  // before a worker that waits goes to sleep
using Clock = std::chrono::steady_clock;
constexpr auto kGuard = std::byte{0xA5};

template <class T>
bool all_finite(const Tensor& tensor) {
  const T* values = tensor.as<T>();
  for (int64_t i = 0; i < tensor.count(); ++i)
    if (!std::isfinite(values[i])) return false;
  return true;
}

}  // namespace

Executor::Executor(Plan plan, const StateStore& state, Workers& workers)
    : plan_(std::move(plan)), state_(state), workers_(workers), progress_(plan_.of_worker.size()) {
  for (std::size_t bytes : plan_.arena_bytes) {
    arenas_.push_back(allocate(bytes));
    std::memset(arenas_.back().get(), static_cast<int>(kGuard), bytes);
  }
  for (const PlanStep& step : plan_.steps) {
    BoundStep bound;
    for (int slot : step.in) bound.in.push_back(bind(slot));
    for (int slot : step.out) bound.out.push_back(bind(slot));
    if (step.workspace >= 0) {
      const Block& block = plan_.blocks[step.workspace];
      bound.workspace = arenas_[block.worker].get() + block.offset;
    }
    steps_.push_back(std::move(bound));
  }
  for (int feed : plan_.feeds) feed_slots_.push_back(bind(feed));
  for (int fetch : plan_.fetches) fetches_.push_back(bind(fetch));
}

Tensor Executor::bind(int slot) const {
  if (slot < 0) return {};
  const Slot& of = plan_.slots[slot];
  switch (of.storage) {
    case Storage::state:
      return {of.desc, state_.at(of.index).data};
    case Storage::constant:
      return {of.desc, view_of(plan_.literals[of.index]).data};
    default: {
      const Block& block = plan_.blocks[of.index];
      return {of.desc, arenas_[block.worker].get() + block.offset};
    }
  }
}

void Executor::run(std::span<const Tensor> feeds, const RunOptions& options) {
  check(feeds.size() == feed_slots_.size(), plan_.name, " takes ", feed_slots_.size(),
        " feeds, was given ", feeds.size());
  for (std::size_t i = 0; i < feeds.size(); ++i) {
    if (!feed_slots_[i].data) continue;
    const TensorDesc& desc = feed_slots_[i].desc;
    if (feeds[i].desc != desc)
      fail(plan_.name, ": feed ", i, " is ", text_of(feeds[i].desc), ", the plan is for ",
           text_of(desc));
    if (desc.count() > 0) std::memcpy(feed_slots_[i].data, feeds[i].data, desc.bytes());
  }
  options_ = options;
  for (Progress& progress : progress_) progress.done.store(0, std::memory_order_relaxed);
  first_failure_.store(INT_MAX, std::memory_order_relaxed);
  failure_ = nullptr;
  workers_.run([](void* self, int worker) { static_cast<Executor*>(self)->work(worker); }, this);
  if (failure_) std::rethrow_exception(failure_);
}

// The loop. With check_finite a worker keeps going until it is past the earliest failure, so that
// the value named is the first in plan order at any thread timing.
void Executor::work(int worker) {
  if (worker >= static_cast<int>(plan_.of_worker.size())) return;  // nothing to exchange here
  const std::vector<int>& mine = plan_.of_worker[worker];
  for (int i = 0; i < static_cast<int>(mine.size()); ++i) {
    const int number = mine[i];
    const PlanStep& step = plan_.steps[number];
    for (const Wait& wait : step.waits) wait_for(wait);
    if (number > first_failure_.load(std::memory_order_acquire)) break;
    const BoundStep& bound = steps_[number];
    try {
      const auto start = options_.times ? Clock::now() : Clock::time_point();
      step.kernel->run({bound.in, bound.out, bound.workspace, options_.context});
      if (options_.times)
        (*options_.times)[static_cast<std::size_t>(number)] +=
            std::chrono::duration<double>(Clock::now() - start).count();
      if (options_.check_finite && !finite(bound))
        fail("step ", options_.context.step, ": the first value that is not finite is '",
             plan_.slots[step.out[0]].name, "' (", step.type, " on ", worker_name(plan_, worker),
             ")");
    } catch (...) {
      note_failure(number, std::current_exception());
      break;
    }
    advance(worker, i + 1);
  }
  advance(worker, INT_MAX);  // whoever still waits for us need not any more
}

void Executor::wait_for(const Wait& wait) {
  std::atomic<int>& done = progress_[wait.worker].done;
  for (int spin = 0; spin < kSpins; ++spin) {
    if (done.load(std::memory_order_acquire) > wait.step) return;
    __builtin_ia32_pause();
  }
  for (int seen = done.load(std::memory_order_acquire); seen <= wait.step;
       seen = done.load(std::memory_order_acquire))
    done.wait(seen, std::memory_order_acquire);
}

void Executor::advance(int worker, int done) {
  progress_[worker].done.store(done, std::memory_order_release);
  progress_[worker].done.notify_all();
}

bool Executor::finite(const BoundStep& step) const {
  for (const Tensor& tensor : step.out) {
    if (tensor.desc.dtype == DType::float32 && !all_finite<float>(tensor)) return false;
    if (tensor.desc.dtype == DType::float64 && !all_finite<double>(tensor)) return false;
  }
  return true;
}

void Executor::note_failure(int step, std::exception_ptr error) {
  while (failure_lock_.test_and_set(std::memory_order_acquire)) __builtin_ia32_pause();
  if (step < first_failure_.load(std::memory_order_relaxed)) {
    first_failure_.store(step, std::memory_order_release);
    failure_ = error;
  }
  failure_lock_.clear(std::memory_order_release);
}

void Executor::check_guards(std::size_t guard_bytes) const {
  for (const Block& block : plan_.blocks) {
    const std::byte* begin = arenas_[block.worker].get() + block.offset;
    for (std::size_t i = 0; i < guard_bytes; ++i) {
      bool intact = *(begin - 1 - i) == kGuard && begin[block.bytes + i] == kGuard;
      if (intact) continue;
      for (const Slot& slot : plan_.slots)
        if (slot.storage == Storage::arena && &plan_.blocks[slot.index] == &block)
          fail("a kernel wrote outside '", slot.name, "' ", text_of(slot.desc));
      fail("a kernel wrote outside its workspace of ", block.bytes, " bytes");
    }
  }
}

}  // namespace lockstep
