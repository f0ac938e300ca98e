// SPDX-License-Identifier: Apache-2.0
// Runs a plan on asynchronous devices. Each worker is a queue, one thread enqueues all steps in
// plan order, and waits become events. From the second run on, the whole run is one recording.
#pragma once

#include <map>
#include <optional>

#include "lockstep/processes.h"
#include "lockstep/session_options.h"
#include "runtime/accelerator.h"
#include "runtime/exec/device_times.h"
#include "runtime/exec/executor.h"
#include "runtime/exec/large_feeds.h"
#include "runtime/exec/states.h"
#include "runtime/memory.h"
#include "runtime/plan/plan.h"

namespace lockstep {

class QueueExecutor final : public Executor {
 public:
  // `state`, `accelerator` and `comm` must outlive the executor; `comm` is null for a single
  // process. Throws for a missing device.
  QueueExecutor(Plan plan, States& state, Accelerator& accelerator, Comm* comm,
                std::shared_ptr<ArenaPool> arenas);
  ~QueueExecutor() override;

  void run(std::span<const Tensor> feeds, const RunOptions& options) override;
  void feed_ahead(std::span<const Tensor> feeds) override;
  std::span<const Tensor> fetches() const override { return fetched_; }

 private:
  struct Line {
    std::unique_ptr<Event> fed, done;
    Memory context;  // a RunContext in the device's memory
    std::unique_ptr<Queue> queue;
  };
  // Host memory that a worker's steps copy from or to.
  struct Staged {
    Memory memory;
    Tensor tensor;
  };

  void* literal(int literal, int worker) override;
  void read_arena(int worker, std::size_t from, std::span<std::byte> to) const override;
  Staged stage(const TensorDesc& desc);
  Queue& queue(int worker) { return *lines_[worker].queue; }
  int threads() const { return plan_.threads * static_cast<int>(plan_.workers.size()); }

  void begin_spans();
  void refresh();
  void enqueue(const RunOptions* step_by_step);
  void enqueue_feeds();
  int enqueue_node(int first, const RunOptions* step_by_step);
  void inspect(int step, const RunOptions& options);
  void enqueue_fetches();
  void finish();
  void check_faults();
  void record();
  void abandon();

  Accelerator& accelerator_;
  Comm* const comm_;
  std::map<std::pair<int, int>, Memory> literals_;  // by literal and device number
  std::vector<std::unique_ptr<Event>> events_;      // by step, if another worker waits for it
  std::unique_ptr<Event> start_;
  std::optional<LargeFeeds> large_feeds_;
  bool is_fed_ahead_ = false;                          // large feeds of the next run are sent
  std::vector<Staged> staged_feeds_, staged_fetches_;  // feeds that are not large
  std::vector<Tensor> fetched_;
  Memory fault_memory_;
  std::span<Fault> faults_;  // by step of Plan::steps, then of Plan::refresh
  Memory context_memory_;
  RunContext* context_ = nullptr;
  std::unique_ptr<Recording> recording_;
  std::string not_recorded_;
  std::unique_ptr<DeviceTimes> times_;  // null before the first run whose times are recorded
  int runs_ = 0;
  // By worker; the first is the root. Declared last, so that queues end before the memory they use.
  std::vector<Line> lines_;
};

}  // namespace lockstep
