// A plan's numbers turned into pointers.
#pragma once

#include <functional>
#include <vector>

#include "runtime/plan/plan.h"
#include "runtime/state/states.h"

namespace lockstep {

struct BoundStep {
  std::vector<Tensor> in;
  std::vector<Tensor> out;
  std::byte* workspace = nullptr;
};

struct BoundPlan {
  std::vector<BoundStep> steps;  // as in Plan::steps
  std::vector<Tensor> feeds;     // data is null where a feed is not used
  std::vector<Tensor> fetches;
};

struct PlanMemory {
  const States& state;
  std::vector<std::byte*> arenas;                         // of each worker
  std::function<void*(int literal, int worker)> literal;  // as that worker sees it
};

BoundPlan bind_plan(const Plan& plan, const PlanMemory& memory);

}  // namespace lockstep
