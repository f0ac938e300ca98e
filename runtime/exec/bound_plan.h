// SPDX-License-Identifier: Apache-2.0
// A plan with its numbers resolved to pointers.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "runtime/exec/arena_pool.h"
#include "runtime/exec/states.h"
#include "runtime/plan/plan.h"

namespace lockstep {

// The data that a run reads of a step, in one cache line. Between two steps the kernels have
// evicted the caches, and each line fetched from memory takes a tenth of a microsecond.
struct alignas(64) BoundStep {
  Kernel* kernel = nullptr;
  std::span<const Wait> waits;
  std::span<Tensor> in;
  std::span<Tensor> out;
  std::byte* workspace = nullptr;
};
static_assert(sizeof(BoundStep) == 64);

struct BoundSteps {
  std::vector<BoundStep> steps;
  std::vector<Tensor> operands;  // step by step, inputs before outputs
};

struct BoundView {
  std::vector<Tensor> in;
  std::vector<Tensor*> shown;  // operands of steps that are bound to the view
};

struct BoundPlan {
  BoundSteps run;             // of Plan::steps
  std::vector<Tensor> feeds;  // data is null for an unused feed
  std::vector<Tensor> fetches;
  std::vector<BoundView> views;  // as in Plan::moving_views
  BoundSteps refresh;            // of Plan::refresh
};

struct PlanMemory {
  const States& state;
  const ArenaPool& arenas;
  std::function<void*(int literal, int worker)> literal;  // the literal's address for the worker
};

// `bound` refers to the plan's kernels and waits. Binding the same plan again, to other memory,
// allocates nothing.
void bind_plan(BoundPlan& bound, const Plan& plan, const PlanMemory& memory);

// Rebinds the views of Plan::moving_views to the offsets that this run's feeds give. The feeds must
// already be copied. Allocates nothing.
void rebind_views(BoundPlan& bound, const Plan& plan);

}  // namespace lockstep
