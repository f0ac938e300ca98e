// SPDX-License-Identifier: Apache-2.0
#include "runtime/exec/bound_plan.h"

#include "runtime/kernel/moving_view.h"

namespace lockstep {

void bind_plan(BoundPlan& bound, const Plan& plan, const PlanMemory& memory) {
  auto in_arena = [&](int number) {
    const Block& block = plan.blocks[number];
    return memory.arenas.arena(block.worker) + block.offset;
  };
  auto address = [&](int slot, int worker) -> void* {
    if (slot < 0) return nullptr;
    const Slot& of = plan.slots[slot];
    if (of.storage == Storage::in_state) {
      const auto state = static_cast<std::size_t>(of.index), shared = plan.session_states();
      if (state < shared) return memory.state.at(of.index).data;
      return memory.arenas.kept(plan.state_workers[state]) + plan.kept[state - shared];
    }
    if (of.storage == Storage::as_constant) return memory.literal(of.index, worker);
    return in_arena(of.index);
  };
  // Copies shapes only the first time, because copying a shape allocates.
  auto add = [&](std::vector<Tensor>& tensors, const std::vector<int>& slots) {
    for (int slot : slots) tensors.push_back({slot < 0 ? TensorDesc{} : plan.slots[slot].desc});
  };
  auto point = [&](std::span<Tensor> tensors, const std::vector<int>& slots, auto worker_of) {
    for (std::size_t i = 0; i < slots.size(); ++i)
      tensors[i].data = address(slots[i], worker_of(slots[i]));
  };
  auto bind = [&](std::vector<Tensor>& tensors, const std::vector<int>& slots, auto worker_of) {
    if (tensors.empty()) add(tensors, slots);
    point(tensors, slots, worker_of);
  };
  auto bind_steps = [&](BoundSteps& made, const std::vector<PlanStep>& steps) {
    if (made.steps.empty())
      for (const PlanStep& step : steps) {
        add(made.operands, step.in);
        add(made.operands, step.out);
      }
    made.steps.resize(steps.size());
    Tensor* operand = made.operands.data();
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const PlanStep& step = steps[i];
      auto next = [&](const std::vector<int>& slots) {
        const std::span<Tensor> tensors(operand, slots.size());
        operand += slots.size();
        point(tensors, slots, [&](int) { return step.worker; });
        return tensors;
      };
      BoundStep& to = made.steps[i];
      to.kernel = step.kernel.get();
      to.waits = step.waits;
      to.in = next(step.in);
      to.out = next(step.out);
      if (step.workspace >= 0) to.workspace = in_arena(step.workspace);
    }
  };
  bind_steps(bound.run, plan.steps);
  bind_steps(bound.refresh, plan.refresh);
  bound.views.resize(plan.moving_views.size());
  for (std::size_t i = 0; i < plan.moving_views.size(); ++i) {
    BoundView& view = bound.views[i];
    bind(view.in, plan.moving_views[i].in, [](int) { return 0; });
    view.shown.clear();
    for (std::size_t s = 0; s < plan.steps.size(); ++s)
      for (std::size_t k = 0; k < plan.steps[s].in.size(); ++k)
        if (const int slot = plan.steps[s].in[k];
            slot >= 0 && plan.slots[slot].view == static_cast<int>(i))
          view.shown.push_back(&bound.run.steps[s].in[k]);
  }
  bind(bound.feeds, plan.feeds, [](int) { return 0; });
  bind(bound.fetches, plan.fetches, [&](int slot) { return plan.slots[slot].worker; });
}

void rebind_views(BoundPlan& bound, const Plan& plan) {
  for (std::size_t i = 0; i < bound.views.size(); ++i) {
    const BoundView& view = bound.views[i];
    const std::size_t offset = moving_view_of(*plan.moving_views[i].kernel)->offset(view.in);
    for (Tensor* operand : view.shown) operand->data = view.in[0].as<std::byte>() + offset;
  }
}

}  // namespace lockstep
