// Runs a plan on devices that work behind the host's back: each worker is a queue, and one thread
// puts all steps into them, in the plan's order; waits become events. From the second run on, all
// of that is one recording.
#pragma once

#include <map>

#include "runtime/accelerator.h"
#include "runtime/exec/bound_plan.h"
#include "runtime/exec/executor.h"

namespace lockstep {

class QueueExecutor final : public Executor {
 public:
  // `state`, `accelerator` and `comm` must outlive it; `comm` is null for a process that is alone.
  // Throws for a device that is not there.
  QueueExecutor(Plan plan, const States& state, Accelerator& accelerator, Comm* comm);

  void run(std::span<const Tensor> feeds, const RunOptions& options) override;
  std::span<const Tensor> fetches() const override { return fetched_; }

  // Why runs are put into queues step by step; "": they are recorded.
  const std::string& not_recorded() const { return not_recorded_; }

 private:
  struct Line {
    std::unique_ptr<Event> fed, done;
    Memory context;  // a RunContext in the device's memory
    std::unique_ptr<Queue> queue;
  };
  // What a worker's steps need of host memory that queues copy from or to.
  struct Staged {
    Memory memory;
    Tensor tensor;
  };

  const std::byte* arena_to_read(int worker) const override;
  void* literal_on(int literal, Device device);
  Staged stage(const TensorDesc& desc);
  Queue& queue(int worker) { return *lines_[static_cast<std::size_t>(worker)].queue; }

  void enqueue(const RunOptions* step_by_step);
  void enqueue_feeds();
  int enqueue_node(int first, const RunOptions* step_by_step);
  void inspect(int step, const RunOptions& options);
  void enqueue_fetches();
  void finish();
  void check_faults();
  void abandon();

  Accelerator& accelerator_;
  Comm* const comm_;
  std::vector<Memory> arenas_;
  mutable std::vector<std::byte> arena_copy_;
  std::map<std::pair<int, int>, Memory> literals_;  // by literal and number of the device
  BoundPlan bound_;
  std::vector<std::unique_ptr<Event>> events_;  // of each step that another worker waits for
  std::unique_ptr<Event> start_;
  std::vector<Staged> staged_feeds_, staged_fetches_;
  std::vector<Tensor> fetched_;
  Memory fault_memory_;
  std::span<Fault> faults_;  // of each step
  Memory context_memory_;
  RunContext* context_ = nullptr;
  std::unique_ptr<Recording> recording_;
  std::string not_recorded_;
  int runs_ = 0;
  // Of each worker; the first is the root. Last, so that queues end before what they work on.
  std::vector<Line> lines_;
};

}  // namespace lockstep
