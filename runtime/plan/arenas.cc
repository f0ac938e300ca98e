// SPDX-License-Identifier: Apache-2.0
#include "runtime/plan/arenas.h"

#include "graph/limits.h"
#include "runtime/plan/offsets.h"
#include "runtime/plan/plan.h"

namespace lockstep {
namespace {

// Returns the largest value in an arena, or null.
const Slot* largest_value(const Plan& plan) {
  const Slot* largest = nullptr;
  for (const Slot& slot : plan.slots)
    if (slot.storage == Storage::in_arena &&
        (!largest || slot.desc.bytes() > largest->desc.bytes()))
      largest = &slot;
  return largest;
}

}  // namespace

void lay_out_arenas(Plan& plan, const CompileRequest& compile) {
  const std::size_t alignment = compile.devices[0].info().alignment;
  auto aligned = [&](std::size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; };
  const std::size_t guard = aligned(compile.options.guard_bytes);
  for (std::vector<PlanStep>* steps : {&plan.refresh, &plan.steps})
    for (PlanStep& step : *steps) {
      const std::size_t bytes = step.kernel->workspace_bytes();
      if (bytes == 0) continue;
      step.workspace = static_cast<int>(plan.blocks.size());
      plan.blocks.push_back({step.worker, bytes, 0, step.node, step.node});
    }
  for (std::size_t i = 0; i < plan.kept.size(); ++i) {
    const std::size_t state = plan.session_states() + i;
    std::size_t& end = plan.workers[plan.state_workers[state]].cached_bytes;
    plan.kept[i] = end;
    end += aligned(plan.state_descs[state].bytes());
  }
  for (std::size_t worker = 0; worker < plan.workers.size(); ++worker) {
    std::vector<Lifetime> lifetimes;
    std::vector<int> of_block;
    for (std::size_t i = 0; i < plan.blocks.size(); ++i) {
      const Block& block = plan.blocks[i];
      if (block.worker != static_cast<int>(worker)) continue;
      lifetimes.push_back({aligned(block.bytes) + 2 * guard, block.first, block.last});
      of_block.push_back(static_cast<int>(i));
    }
    Offsets offsets =
        compile.options.reuse_memory ? plan_offsets(lifetimes) : separate_offsets(lifetimes);
    for (std::size_t i = 0; i < of_block.size(); ++i)
      plan.blocks[of_block[i]].offset = offsets.offset[i] + guard;
    plan.workers[worker].arena_bytes = offsets.total;
  }
}

void check_values(const Plan& plan) {
  if (const Slot* largest = largest_value(plan))
    check_memory(largest->desc.bytes(), join("'", largest->name, "' ", text_of(largest->desc)));
}

void check_arenas(const Plan& plan) {
  const Slot* largest = largest_value(plan);
  if (!largest) return;
  std::size_t bytes = 0;
  for (const Worker& worker : plan.workers)
    bytes = saturating_add(bytes, saturating_add(worker.arena_bytes, worker.cached_bytes));
  check_memory(bytes, join("the plan of ", plan.name, ", whose largest value is '", largest->name,
                           "' ", text_of(largest->desc), ","));
}

}  // namespace lockstep
