#include "runtime/exec/bound_plan.h"

namespace lockstep {

BoundPlan bind_plan(const Plan& plan, const PlanMemory& memory) {
  auto in_arena = [&](int number) {
    const Block& block = plan.blocks[number];
    return memory.arenas[block.worker] + block.offset;
  };
  auto bind = [&](int slot, int worker) -> Tensor {
    if (slot < 0) return {};
    const Slot& of = plan.slots[slot];
    if (of.lives == Lives::in_state) return {of.desc, memory.state.at(of.index).data};
    if (of.lives == Lives::as_constant) return {of.desc, memory.literal(of.index, worker)};
    return {of.desc, in_arena(of.index)};
  };
  BoundPlan bound;
  for (const PlanStep& step : plan.steps) {
    BoundStep& to = bound.steps.emplace_back();
    for (int slot : step.in) to.in.push_back(bind(slot, step.worker));
    for (int slot : step.out) to.out.push_back(bind(slot, step.worker));
    if (step.workspace >= 0) to.workspace = in_arena(step.workspace);
  }
  for (int slot : plan.feeds) bound.feeds.push_back(bind(slot, 0));
  for (int slot : plan.fetches) bound.fetches.push_back(bind(slot, plan.slots[slot].worker));
  return bound;
}

}  // namespace lockstep
