// SPDX-License-Identifier: Apache-2.0
#include "app/pages/memory_need.h"

#include <algorithm>
#include <functional>

#include "graph/limits.h"
#include "lockstep/loader.h"
#include "runtime/memory.h"

namespace lockstep {
namespace {

std::vector<std::string> names_of_blocks(const Plan& plan) {
  std::vector<std::string> names(plan.blocks.size());
  for (const Slot& slot : plan.slots)
    if (slot.storage == Storage::in_arena && slot.index >= 0 && names[slot.index].empty())
      names[slot.index] = slot.name;
  for (const PlanStep& step : plan.steps)
    if (step.workspace >= 0) names[step.workspace] = "workspace of " + step.name;
  return names;
}

}  // namespace

PlannedMemory memory_of_run(const Plan& plan) {
  PlannedMemory memory = planned_memory(plan);
  for (const int feed : plan.feeds) {
    if (feed < 0) continue;
    const TensorDesc& desc = plan.slots[feed].desc;
    memory.loader += element_count(desc.dims) * size_of(desc.dtype);
  }
  memory.loader *= Loader::kAhead;
  return memory;
}

MemoryNeed need_of(const Plan& plan, const PlannedMemory& memory) {
  MemoryNeed need{memory.all(), "the process"};
  std::vector<std::size_t> own;
  for (std::size_t w = 0; w < plan.workers.size(); ++w)
    own.push_back(planned_memory(plan, static_cast<int>(w)).all());
  need.worker = static_cast<int>(std::ranges::max_element(own) - own.begin());
  if (plan.workers[0].device.info().in_host_memory) return need;
  need.bytes = 0;
  for (std::size_t w = 0; w < plan.workers.size(); ++w) {
    std::size_t together = 0;
    for (std::size_t other = 0; other < plan.workers.size(); ++other)
      if (plan.workers[other].device == plan.workers[w].device)
        together = saturating_add(together, own[other]);
    if (together > need.bytes) {
      need.bytes = together;
      need.of = text_of(plan.workers[w].device);
      need.worker = static_cast<int>(w);
    }
  }
  return need;
}

std::string text_of(const MemoryNeed& need, std::size_t limit) {
  const std::string needs = join("needs ", text_of_bytes(need.bytes));
  if (limit == 0) return needs;
  const std::string has = join(needs, ", has ", text_of_bytes(limit), ": ");
  return need.bytes > limit ? join(has, text_of_bytes(need.bytes - limit), " too little")
                            : join(has, text_of_bytes(limit - need.bytes), " to spare");
}

std::vector<LargeValue> largest_values(const Plan& plan, int worker, std::size_t count) {
  std::vector<LargeValue> values;
  const std::vector<std::string> names = names_of_blocks(plan);
  for (std::size_t i = 0; i < plan.blocks.size(); ++i)
    if (plan.blocks[i].worker == worker && !names[i].empty())
      values.push_back({names[i], plan.blocks[i].bytes, "arena"});
  for (std::size_t i = 0; i < plan.states.size(); ++i)
    if (plan.state_workers[i] == worker && plan.state_descs[i].present())
      values.push_back({plan.states[i], plan.state_descs[i].bytes(),
                        i < plan.session_states() ? "state" : "kept"});
  std::ranges::stable_sort(values, std::greater(), &LargeValue::bytes);
  if (values.size() > count) values.resize(count);
  return values;
}

}  // namespace lockstep
