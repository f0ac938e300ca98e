// SPDX-License-Identifier: Apache-2.0
#include "runtime/exec/queue_executor.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <deque>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "lockstep/error.h"
#include "lockstep/processes.h"
#include "lockstep/session_options.h"
#include "runtime/accelerator.h"
#include "runtime/exec/states.h"
#include "runtime/memory.h"
#include "runtime/nanoseconds.h"
#include "runtime/plan/plan.h"
#include "runtime/threads/parallel.h"

namespace lockstep {
namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point began) {
  return std::chrono::duration<double>(Clock::now() - began).count();
}

// The recordings of all executors that use `comm`. Executors of one comm run in one thread; tests
// run processes as threads.
using Recordings = std::set<std::unique_ptr<Recording>*>;
Recordings& recordings_of(const Comm* comm) {
  static std::mutex mutex;
  static std::map<const Comm*, Recordings> all;
  std::lock_guard lock(mutex);
  return all[comm];
}

}  // namespace

QueueExecutor::QueueExecutor(Plan plan, States& state, Accelerator& accelerator, Comm* comm,
                             std::shared_ptr<ArenaPool> arenas)
    : Executor(std::move(plan), state, std::move(arenas)), accelerator_(accelerator), comm_(comm) {
  for (const Worker& worker : plan_.workers)
    check(worker.device.index < accelerator.devices(), "cannot run on ", worker.device,
          ": this machine has ", accelerator.devices(),
          " GPUs that can be used; see `lockstep doctor`");
  for (const Worker& worker : plan_.workers) {
    const Device device = worker.device;
    lines_.push_back({accelerator.event(device), accelerator.event(device),
                      accelerator.allocate(device, sizeof(RunContext), std::byte{0}),
                      accelerator.queue(device)});
  }
  start_ = accelerator.event(plan_.workers[0].device);
  if (!plan_.is_recorded) not_recorded_ = "RECORD is false";
  events_.resize(plan_.steps.size());
  for (const PlanStep& step : plan_.steps) {
    for (const Wait& wait : step.waits) {
      auto& event = events_[plan_.workers[wait.worker].steps[wait.step]];
      if (!event) event = accelerator.event(plan_.workers[wait.worker].device);
    }
    const std::string reason = step.kernel->not_recordable();
    if (not_recorded_.empty() && !reason.empty())
      not_recorded_ = step.name + " (" + step.type + ") " + reason;
  }
  large_feeds_.emplace(plan_, accelerator);
  for (std::size_t i = 0; i < plan_.feeds.size(); ++i) {
    const bool here = plan_.feeds[i] >= 0 && !large_feeds_->has(i);
    staged_feeds_.push_back(here ? stage(plan_.slots[plan_.feeds[i]].desc) : Staged{});
  }
  for (int slot : plan_.fetches) {
    staged_fetches_.push_back(stage(plan_.slots[slot].desc));
    fetched_.push_back(staged_fetches_.back().tensor);
  }
  const std::size_t faults = plan_.steps.size() + plan_.refresh.size();
  fault_memory_ = accelerator.allocate_host(faults * sizeof(Fault));
  faults_ = {reinterpret_cast<Fault*>(fault_memory_.get()), faults};
  std::fill(faults_.begin(), faults_.end(), Fault{});
  context_memory_ = accelerator.allocate_host(sizeof(RunContext));
  context_ = new (context_memory_.get()) RunContext;
}

QueueExecutor::~QueueExecutor() {
  if (comm_) recordings_of(comm_).erase(&recording_);
  recording_.reset();  // while its queues exist
}

QueueExecutor::Staged QueueExecutor::stage(const TensorDesc& desc) {
  Staged staged{accelerator_.allocate_host(desc.bytes()), {desc}};
  staged.tensor.data = staged.memory.get();
  return staged;
}

void* QueueExecutor::literal(int literal, int worker) {
  const Device device = plan_.workers[worker].device;
  Memory& memory = literals_[{literal, device.index}];
  if (!memory) {
    const Tensor value = view_of(plan_.literals[literal]);
    memory = accelerator_.allocate(device, value.desc.bytes(), std::byte{0});
    if (value.desc.bytes() > 0) accelerator_.copy(memory.get(), value.data, value.desc.bytes());
  }
  return memory.get();
}

void QueueExecutor::read_arena(int worker, std::size_t from, std::span<std::byte> to) const {
  accelerator_.copy(to.data(), arenas_->arena(worker) + from, to.size());
}

void QueueExecutor::run(std::span<const Tensor> feeds, const RunOptions& options) {
  if (spans_) begin_spans();
  const auto began = Clock::now();
  check_feeds(feeds);
  if (bind()) recording_.reset();  // the recording contains addresses
  const bool is_sent = std::exchange(is_fed_ahead_, false) && options.fed_ahead;
  if (!is_sent) large_feeds_->send(feeds, threads());
  for (std::size_t i = 0; i < feeds.size(); ++i)
    if (staged_feeds_[i].tensor.data)
      parallel_copy(staged_feeds_[i].tensor.data, feeds[i].data, feeds[i].desc.bytes(), threads());
  *context_ = options.context;
  if (options.not_finite) {
    *options.not_finite = {};
    intended_infinities_.begin(plan_);
  }
  const bool stale = begin_run();
  try {
    if (stale) refresh();
    large_feeds_->place(bound_, [this](int worker) -> Queue& { return queue(worker); });
    // The first run is not recorded: some kernels choose their algorithm on the device. A recording
    // has no events that note times.
    if (options.not_finite || options.times) {
      enqueue(&options);
    } else if (runs_ == 0 || !not_recorded_.empty() || spans_) {
      enqueue(nullptr);
    } else {
      if (!recording_) record();
      recording_->replay();
    }
    if (options.host_seconds) *options.host_seconds += seconds_since(began);
    if (options.meanwhile) options.meanwhile();
    finish();
    check_faults();
  } catch (...) {
    abandon();
    throw;
  }
  end_run();
  ++runs_;
  if (!spans_) return;
  times_->read(*spans_);
  spans_->ends = nanoseconds_now();
}

void QueueExecutor::begin_spans() {
  if (!times_) times_ = std::make_unique<DeviceTimes>(plan_, accelerator_);
  times_->set_clocks([this](int worker) -> Queue& { return queue(worker); });
  spans_->plan = held_;
  spans_->steps.assign(plan_.steps.size(), {});
  spans_->is_unrecorded = not_recorded_.empty();
  spans_->begins = nanoseconds_now();
}

void QueueExecutor::feed_ahead(std::span<const Tensor> feeds) {
  check_feeds(feeds);
  large_feeds_->send(feeds, threads());
  is_fed_ahead_ = true;
}

// Runs before the recording and is not part of it: a recording is replayed from one queue.
void QueueExecutor::refresh() {
  for (std::size_t i = 0; i < plan_.refresh.size(); ++i) {
    const BoundStep& step = bound_.refresh.steps[i];
    Line& line = lines_[plan_.refresh[i].worker];
    step.kernel->run({step.in, step.out, step.workspace, *context_, line.queue.get(),
                      reinterpret_cast<const RunContext*>(line.context.get()),
                      &faults_[plan_.steps.size() + i]});
  }
  for (Line& line : lines_) line.queue->finish();
  check_faults();
}

// Waits for all queues. A single process sleeps until the device is done. One of several processes
// polls to detect lost processes, for which its queues would wait forever.
void QueueExecutor::finish() {
  auto idle = [](const Line& line) { return line.queue->idle(); };
  if (comm_ && plan_.exchanges)
    comm_->wait_until([&] { return std::all_of(lines_.begin(), lines_.end(), idle); }, plan_.name);
  for (Line& line : lines_) line.queue->finish();
}

void QueueExecutor::check_faults() {
  const std::size_t steps = plan_.steps.size();
  for (std::size_t i = 0; i < faults_.size(); ++i) {
    if (faults_[i].raised == 0) continue;
    const PlanStep& of = i < steps ? plan_.steps[i] : plan_.refresh[i - steps];
    const std::string why = of.kernel->explain(faults_[i]);
    std::fill(faults_.begin(), faults_.end(), Fault{});
    fail(of.name, " (", of.type, " on ", text_of(plan_.workers[of.worker]), "): ", why);
  }
}

void QueueExecutor::record() {
  recording_ = accelerator_.record(queue(0), [this] { enqueue(nullptr); });
  if (comm_) recordings_of(comm_).insert(&recording_);
}

// Ends queued work, which must not outlive the memory it uses. An abort ends all waiting work at
// once, but returns only when no recording holds the links, of this plan or of another.
void QueueExecutor::abandon() {
  std::thread aborting;
  if (comm_ && plan_.exchanges && comm_->device_links) {
    DeviceLinks& links = *comm_->device_links;
    aborting = std::thread([&links] {
      try {
        links.abort();
      } catch (...) {  // only the first error is reported
      }
    });
    for (std::unique_ptr<Recording>* recording : recordings_of(comm_)) recording->reset();
  }
  recording_.reset();
  for (Line& line : lines_) try {
      line.queue->finish();
    } catch (...) {  // only the first error is reported
    }
  if (aborting.joinable()) aborting.join();
}

void QueueExecutor::enqueue(const RunOptions* step_by_step) {
  enqueue_feeds();
  for (int step = 0; step < static_cast<int>(plan_.steps.size());)
    step = enqueue_node(step, step_by_step);
  enqueue_fetches();
}

// Enqueues copies of the feeds. No worker starts a step before all feeds are copied; the root's
// queue has waited for large feeds.
void QueueExecutor::enqueue_feeds() {
  Line& root = lines_.front();
  root.queue->record(*start_);
  for (Line& line : lines_) {
    if (&line != &root) line.queue->wait(*start_);
    line.queue->copy(line.context.get(), context_, sizeof *context_);
  }
  for (std::size_t i = 0; i < staged_feeds_.size(); ++i) {
    const Tensor& from = staged_feeds_[i].tensor;
    if (from.data && from.count() > 0)
      queue(plan_.slots[plan_.feeds[i]].worker)
          .copy(bound_.feeds[i].data, from.data, from.desc.bytes());
  }
  for (Line& line : lines_) line.queue->record(*line.fed);
  for (Line& line : lines_)
    for (Line& other : lines_)
      if (&line != &other) line.queue->wait(*other.fed);
}

// Enqueues all parts of the node that begins with step `first`; returns the step after them.
int QueueExecutor::enqueue_node(int first, const RunOptions* step_by_step) {
  const int parts = std::max(plan_.steps[first].parts, 1);
  const int end = first + parts;
  for (int number = first; number < end; ++number)
    for (const Wait& wait : plan_.steps[number].waits)
      queue(plan_.steps[number].worker).wait(*events_[plan_.workers[wait.worker].steps[wait.step]]);
  const auto began = Clock::now();
  auto args = [&](int number) {
    const BoundStep& bound = bound_.run.steps[number];
    Line& line = lines_[plan_.steps[number].worker];
    return KernelArgs{bound.in,         bound.out,
                      bound.workspace,  *context_,
                      line.queue.get(), reinterpret_cast<const RunContext*>(line.context.get()),
                      &faults_[number]};
  };
  for (int number = first; number < end; ++number) {
    if (spans_) times_->begin(number, queue(plan_.steps[number].worker));
    plan_.steps[number].kernel->run(args(number));
  }
  if (parts > 1)
    for (int number = first; number < end; ++number)
      plan_.steps[number].kernel->conclude(args(number));
  if (spans_)
    for (int number = first; number < end; ++number)
      times_->end(number, queue(plan_.steps[number].worker));
  for (int number = first; number < end; ++number)
    if (events_[number]) queue(plan_.steps[number].worker).record(*events_[number]);
  if (step_by_step) {
    finish();
    check_faults();
    if (step_by_step->times) (*step_by_step->times)[first] += seconds_since(began);
    for (int number = first; number < end; ++number) inspect(number, *step_by_step);
  }
  return end;
}

void QueueExecutor::inspect(int step, const RunOptions& options) {
  if (!options.not_finite || options.not_finite->step >= 0) return;
  std::deque<Literal> held;
  std::vector<Tensor> made;
  for (const Tensor& tensor : bound_.run.steps[step].out) {
    made.push_back({});
    if (!tensor.data) continue;
    Literal& copy = held.emplace_back(tensor.desc.dtype, tensor.desc.dims);
    accelerator_.copy(copy.bytes().data(), tensor.data, copy.bytes().size());
    made.back() = view_of(copy);
  }
  *options.not_finite = not_finite_in(step, made);
}

void QueueExecutor::enqueue_fetches() {
  Line& root = lines_.front();
  for (Line& line : lines_) {
    if (&line == &root) continue;
    line.queue->record(*line.done);
    root.queue->wait(*line.done);
  }
  for (std::size_t i = 0; i < fetched_.size(); ++i)
    if (fetched_[i].count() > 0)
      root.queue->copy(fetched_[i].data, bound_.fetches[i].data, fetched_[i].desc.bytes());
}

}  // namespace lockstep
