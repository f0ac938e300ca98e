// SPDX-License-Identifier: Apache-2.0
#include "app/inspect/plan_json.h"

#include "app/inspect/json_lines.h"
#include "runtime/plan/compile.h"
#include "runtime/plan/traffic.h"

namespace lockstep {
namespace {

// The place of a slot: in a block of an arena, in a state of the session, in memory kept for the
// next run, or in a constant.
Json place_json(const Plan& plan, const Slot& slot) {
  switch (slot.storage) {
    case Storage::in_arena:
      return {{"in", "arena"}, {"block", slot.index}};
    case Storage::as_constant:
      return Json::object({{"in", "constant"}});
    default:
      break;
  }
  const auto state = static_cast<std::size_t>(slot.index);
  if (state < plan.session_states()) return {{"in", "state"}, {"state", slot.index}};
  return {{"in", "kept"}, {"offset", plan.kept[state - plan.session_states()]}};
}

Json slot_json(const Plan& plan, int i) {
  const Slot& slot = plan.slots[i];
  return {{"name", slot.name},
          {"type", std::string(name_of(slot.desc.dtype))},
          {"shape", slot.desc.dims},
          {"layout", text_of_layout(slot.desc)},
          {"bytes", slot.desc.bytes()},
          {"worker", slot.worker},
          {"place", place_json(plan, slot)}};
}

Json step_json(const Plan& plan, const PlanStep& step) {
  Json waits = Json::array(), refused = Json::array();
  for (const Wait& wait : step.waits) waits.push_back({wait.worker, wait.step});
  for (const Refused& other : step.refused)
    refused.push_back({{"candidate", other.candidate}, {"why", other.reason}});
  return {{"name", step.name},
          {"type", step.type},
          {"node", step.node},
          {"worker", step.worker},
          {"part", step.part},
          {"parts", step.parts},
          {"candidate", step.candidate},
          {"kernel", step.kernel->describe()},
          {"in", step.in},
          {"out", step.out},
          {"workspace", step.workspace},
          {"waits", waits},
          {"refused", refused},
          {"products", step.flops.products},
          {"others", step.flops.others},
          {"bytes", bytes_of(plan, step)}};
}

}  // namespace

void write_json(std::ostream& stream, const Plan& plan, const PlannedMemory& memory) {
  JsonLines out(stream);
  out.field("schema", kPlanSchema);
  out.field("name", plan.name);
  out.field("threads", plan.threads);
  out.field("memory", json_of(memory));
  out.field("tensor_bytes", plan.tensor_bytes);
  out.field("notes", plan.notes);
  out.list("workers", plan.workers.size(), [&](int w) {
    const Worker& worker = plan.workers[w];
    return Json{{"name", text_of(worker)},
                {"device", text_of(worker.device)},
                {"communicates", worker.communicates()},
                {"arena_bytes", worker.arena_bytes},
                {"kept_bytes", worker.cached_bytes},
                {"steps", worker.steps}};
  });
  out.list("states", plan.session_states(), [&](int i) {
    const TensorDesc& desc = plan.state_descs[i];
    return Json{{"name", plan.states[i]},
                {"bytes", desc.present() ? desc.bytes() : 0},
                {"worker", plan.state_workers[i]}};
  });
  out.field("shared", plan.shared);
  out.field("feeds", plan.feeds);
  out.field("fetches", plan.fetches);
  out.list("blocks", plan.blocks.size(), [&](int i) {
    const Block& block = plan.blocks[i];
    return Json{{"worker", block.worker},
                {"bytes", block.bytes},
                {"offset", block.offset},
                {"first", block.first},
                {"last", block.last}};
  });
  out.list("slots", plan.slots.size(), [&](int i) { return slot_json(plan, i); });
  const auto steps = [&](const char* name, const std::vector<PlanStep>& list) {
    out.list(name, list.size(), [&](int i) { return step_json(plan, list[i]); });
  };
  steps("steps", plan.steps);
  steps("windows", plan.moving_views);
  steps("refresh", plan.refresh);
  out.end();
}

}  // namespace lockstep
