// SPDX-License-Identifier: Apache-2.0
// The step of one replica without its sums: kernels in the plan's order, the kernel that makes each
// gradient, and the kernels that wait for sums. Replicas are alike, so one stands for all.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/model_source.h"
#include "app/simulate/kernel_times.h"
#include "builders/all_reduce/packing.h"
#include "graph/phases.h"
#include "runtime/plan/planned_memory.h"

namespace lockstep {

struct ReplicaKernel {
  double seconds = 0;
  Phase phase = Phase::forward;
  std::vector<int> awaits = {};  // gradients whose sums it reads
};

struct ReplicaGradient {
  GradientSize size;
  int made_by = -1;  // the kernel
};

struct ReplicaStep {
  std::vector<ReplicaKernel> kernels;
  std::vector<ReplicaGradient> gradients;  // in the order of parameters; summed as buckets
  double feeds = 0;                        // seconds before the first kernel
  double between = 0;                      // seconds of the executor in each kernel's time
  double examples = 0;
  bool has_queues = false;   // of its device: sums of one node have a queue
  PlannedMemory memory;      // of the replica
  int micro_batches = 1;     // of the step as built; the kernels are of all of them
  double activations = 0;    // bytes, of one micro-batch, that further micro-batches make smaller
  double reduced_bytes = 0;  // of the step as built (app/inspect)
  int64_t messages = 0;
  std::string bucket_plan;         // of the step as built
  std::vector<std::string> notes;  // about parts that are not simulated

  double seconds_of(Phase phase) const;
  double seconds() const;  // of all kernels, and before them
  std::vector<GradientSize> sizes() const;
  double gradient_bytes() const;
};

// The step of replica 0 of a plan of the whole step. Throws for a model without a step.
ReplicaStep replica_step(const SourcedModel& source, const Plan& plan, KernelTimes& times);

// The plan of the source's step for looking at it: it may need more memory than is free.
Plan plan_of_step(const SourcedModel& source);

}  // namespace lockstep
