// SPDX-License-Identifier: Apache-2.0
#include "runtime/plan/plan.h"

#include <iomanip>
#include <sstream>

#include "graph/printable.h"
#include "runtime/plan/compile.h"
#include "runtime/plan/traffic.h"

namespace lockstep {
namespace {

std::string place_of(const Plan& plan, const Slot& slot) {
  switch (slot.storage) {
    case Storage::in_state:
      if (const std::size_t state = slot.index; state >= plan.session_states())
        return join("kept ", text_of(plan.workers[slot.worker]), "+",
                    plan.kept[state - plan.session_states()]);
      return (slot.view >= 0 ? "part of state " : "state ") + printable(plan.states[slot.index]);
    case Storage::as_constant:
      return "constant";
    default: {
      const Block& block = plan.blocks[slot.index];
      return join(text_of(plan.workers[block.worker]), "+", block.offset);
    }
  }
}

std::string slot_text(const Plan& plan, int index) {
  if (index < 0) return "-";
  const Slot& slot = plan.slots[index];
  return printable(slot.name) + text_of_layout(slot.desc) + "@" + place_of(plan, slot);
}

void print_slots(std::ostream& out, const Plan& plan, const std::vector<int>& slots) {
  for (std::size_t i = 0; i < slots.size(); ++i)
    out << (i > 0 ? ", " : "") << slot_text(plan, slots[i]);
}

// Prints steps that belong to no worker's list.
void print_apart(std::ostream& out, const Plan& plan, const char* what,
                 const std::vector<PlanStep>& steps) {
  for (const PlanStep& step : steps) {
    out << what << step.type << " ";
    print_slots(out, plan, step.in);
    out << " -> ";
    print_slots(out, plan, step.out);
    out << "\n";
  }
}

// Prints the bytes that each kind of step reads and writes, which determine a GPU's time.
void print_kinds(std::ostream& out, const Plan& plan) {
  for (const KindOfStep& kind : kinds_of_steps(plan))
    out << "kind  " << kind.type << ": " << kind.steps << (kind.steps == 1 ? " step, " : " steps, ")
        << kind.bytes << " bytes read and written\n";
}

}  // namespace

std::string text_of(const Worker& worker) {
  if (!worker.communicates()) return text_of(worker.device);
  return worker.device.info().has_queues ? text_of(worker.device) + "/comm" : "exchange";
}

std::string text_of(const Plan& plan) {
  std::ostringstream out;
  out << "plan of " << plan.name << ": " << plan.steps.size() << " steps on";
  for (const Worker& worker : plan.workers)
    if (!worker.communicates()) out << " " << text_of(worker.device);
  out << ", " << plan.threads << (plan.threads == 1 ? " thread" : " threads") << " each\n";
  std::size_t arena = 0, kept = 0;
  for (const Worker& worker : plan.workers) {
    arena += worker.arena_bytes;
    kept += worker.cached_bytes;
  }
  out << "memory: " << arena << " bytes in arenas for " << plan.tensor_bytes << " bytes of tensors";
  if (plan.tensor_bytes > 0) out << " (" << 100 * arena / plan.tensor_bytes << " %)";
  out << "; " << plan.views << (plan.views == 1 ? " view, " : " views, ") << plan.in_place
      << (plan.in_place == 1 ? " value in place" : " values in place");
  if (kept > 0) out << "; " << kept << " bytes kept for the next run";
  out << "\n";
  if (plan.workers[0].device.info().in_host_memory)  // GPU libraries do not report reorders
    out << "traffic: " << text_of(traffic_of(plan)) << "\n";
  else
    print_kinds(out, plan);
  for (const std::string& note : plan.notes) out << "fused: " << printable(note) << "\n";
  for (int feed : plan.feeds)
    if (feed >= 0)
      out << "feed  " << slot_text(plan, feed) << " " << text_of(plan.slots[feed].desc) << "\n";
  print_apart(out, plan, "window ", plan.moving_views);
  print_apart(out, plan, "refresh ", plan.refresh);
  for (const Worker& worker : plan.workers) {
    out << text_of(worker) << " arena " << worker.arena_bytes << " bytes\n";
    int number = 0;
    for (int index : worker.steps) {
      const PlanStep& step = plan.steps[index];
      out << std::right << std::setw(5) << number++ << "  " << step.type;
      if (step.parts > 1) out << " part " << step.part << "/" << step.parts;
      std::string how = step.kernel->describe();
      if (!how.empty()) out << " [" << how << "]";
      out << " ";
      print_slots(out, plan, step.in);
      out << " -> ";
      print_slots(out, plan, step.out);
      if (step.workspace >= 0)
        out << " workspace " << plan.blocks[step.workspace].bytes << "+"
            << plan.blocks[step.workspace].offset;
      for (Wait wait : step.waits)
        out << " waits " << text_of(plan.workers[wait.worker]) << "#" << wait.step;
      out << "\n";
    }
  }
  for (int fetch : plan.fetches)
    out << "fetch " << slot_text(plan, fetch) << " " << text_of(plan.slots[fetch].desc) << "\n";
  return out.str();
}

std::string reasons_of(const Plan& plan) {
  std::ostringstream out;
  for (const Worker& worker : plan.workers)
    for (std::size_t number = 0; number < worker.steps.size(); ++number) {
      const PlanStep& step = plan.steps[worker.steps[number]];
      if (step.refused.empty()) continue;
      out << "why " << text_of(worker) << "#" << number << " " << step.type << " "
          << printable(step.name) << " runs as '" << step.candidate << "'. "
          << printable(text_of(step.refused)) << "\n";
    }
  return out.str().empty() ? "why: every step uses its first candidate, none was refused\n"
                           : out.str();
}

}  // namespace lockstep
