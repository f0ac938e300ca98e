// SPDX-License-Identifier: Apache-2.0
#include "app/diff/plan_changes.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "app/diff/order_of.h"
#include "graph/limits.h"

namespace lockstep {
namespace {

// A step's identity in plans: names are unique by operator and part.
using StepKey = std::tuple<std::string_view, std::string_view, int>;
StepKey key_of(const PlanStep& step) { return {step.name, step.type, step.part}; }

class PlanComparison {
 public:
  PlanComparison(const Plan& a, const Plan& b, Changes& changes)
      : a_(a), b_(b), changes_(changes) {}

  void run() {
    const std::size_t before = changes_.size();
    number("threads of each worker", a_.threads, b_.threads);
    compare_workers();
    compare_notes();
    number("values that are views", a_.views, b_.views);
    number("values computed in place", a_.in_place, b_.in_place);
    number("steps that refresh kept values", std::ssize(a_.refresh), std::ssize(b_.refresh));
    number("moving views", std::ssize(a_.moving_views), std::ssize(b_.moving_views));
    bytes("bytes of all tensors", a_.tensor_bytes, b_.tensor_bytes);
    compare_places();
    // The text of a plan has all its decisions.
    if (changes_.size() == before && text_of(a_) != text_of(b_))
      add_changed("plan", "", "text", "", "");
  }

 private:
  Change& add(DiffKind kind, const std::string& of, std::string_view name) {
    changes_.push_back({.part = DiffPart::plan, .kind = kind, .of = of, .name = std::string(name)});
    return changes_.back();
  }
  void add_changed(const std::string& of, std::string_view name, const std::string& what,
                   std::string a, std::string b) {
    Change& change = add(DiffKind::changed, of, name);
    change.what = what;
    change.a = std::move(a);
    change.b = std::move(b);
  }
  void number(const char* of, int64_t a, int64_t b) {
    if (a != b) add_changed(of, "", "", std::to_string(a), std::to_string(b));
  }
  void bytes(const std::string& of, std::size_t a, std::size_t b) {
    if (a != b) add_changed(of, "", "", text_of_bytes(a), text_of_bytes(b));
  }

  void compare_workers() {
    std::map<std::string, const Worker*> of_a, of_b;
    for (const Worker& worker : a_.workers) of_a.emplace(text_of(worker), &worker);
    for (const Worker& worker : b_.workers) of_b.emplace(text_of(worker), &worker);
    for (const auto& [name, worker] : of_a)
      if (const auto other = of_b.find(name); other == of_b.end())
        add(DiffKind::only_in_a, "worker", name);
      else
        compare_worker(name, *worker, *other->second);
    for (const auto& [name, worker] : of_b)
      if (of_a.count(name) == 0) add(DiffKind::only_in_b, "worker", name);
  }

  void compare_worker(const std::string& name, const Worker& a, const Worker& b) {
    bytes("arena of " + name, a.arena_bytes, b.arena_bytes);
    bytes("kept memory of " + name, a.cached_bytes, b.cached_bytes);
    std::map<StepKey, int> in_b;  // positions
    for (std::size_t i = 0; i < b.steps.size(); ++i)
      in_b.emplace(key_of(step_of(b_, b.steps[i])), static_cast<int>(i));
    std::set<StepKey> paired;
    std::vector<int> positions;
    std::vector<const PlanStep*> steps;
    for (const int index : a.steps) {
      const PlanStep& step = step_of(a_, index);
      const auto found = in_b.find(key_of(step));
      if (found == in_b.end() || !paired.insert(found->first).second) {
        add_step(DiffKind::only_in_a, step);
        continue;
      }
      const auto position = static_cast<std::size_t>(found->second);
      compare_steps(step, step_of(b_, b.steps[position]));
      positions.push_back(found->second);
      steps.push_back(&step);
    }
    for (const int index : b.steps)
      if (const PlanStep& step = step_of(b_, index); paired.count(key_of(step)) == 0)
        add_step(DiffKind::only_in_b, step);
    const std::vector<bool> stays = longest_increasing(positions);
    for (std::size_t k = 0; k < steps.size(); ++k)
      if (!stays[k]) {
        Change& change = add_step(DiffKind::moved, *steps[k]);
        change.what = "order";
        change.a = join("step ", k, " of ", name);
        change.b = join("step ", positions[k], " of ", name);
      }
  }

  static const PlanStep& step_of(const Plan& plan, int index) {
    return plan.steps[static_cast<std::size_t>(index)];
  }
  Change& add_step(DiffKind kind, const PlanStep& step) {
    Change& change = add(kind, step.type, step.name);
    change.is_node = true;
    return change;
  }

  void compare_steps(const PlanStep& a, const PlanStep& b) {
    const auto differ = [&](const char* what, const std::string& x, const std::string& y) {
      if (x == y) return;
      Change& change = add_step(DiffKind::changed, a);
      change.what = what;
      change.a = x;
      change.b = y;
    };
    differ("kernel", kernel_text(a), kernel_text(b));
    differ("layouts", layouts_of(a_, a), layouts_of(b_, b));
    differ("workspace", workspace_of(a_, a), workspace_of(b_, b));
    differ("waits", waits_of(a_, a), waits_of(b_, b));
  }

  static std::string kernel_text(const PlanStep& step) {
    const std::string how = step.kernel ? step.kernel->describe() : "";
    return how.empty() ? step.candidate : how;
  }

  static std::string layouts_of(const Plan& plan, const PlanStep& step) {
    std::string text;
    for (const auto* slots : {&step.in, &step.out}) {
      if (slots == &step.out) text += " ->";
      for (const int slot : *slots)
        text += slot < 0 ? " -" : " " + text_of(plan.slots[static_cast<std::size_t>(slot)].desc);
    }
    return text.substr(std::min<std::size_t>(1, text.size()));
  }

  static std::string workspace_of(const Plan& plan, const PlanStep& step) {
    return step.workspace < 0
               ? ""
               : text_of_bytes(plan.blocks[static_cast<std::size_t>(step.workspace)].bytes);
  }

  // Names the steps that are waited for: their numbers shift if other steps come or go.
  static std::string waits_of(const Plan& plan, const PlanStep& step) {
    std::string text;
    for (const Wait& wait : step.waits) {
      const Worker& worker = plan.workers[static_cast<std::size_t>(wait.worker)];
      const PlanStep& other = step_of(plan, worker.steps[static_cast<std::size_t>(wait.step)]);
      text += (text.empty() ? "" : ", ") + text_of(worker) + " " + other.name;
    }
    return text;
  }

  void compare_notes() {
    const std::multiset<std::string> of_a(a_.notes.begin(), a_.notes.end()),
        of_b(b_.notes.begin(), b_.notes.end());
    for (const std::string& note : of_a)
      if (of_b.count(note) == 0) add(DiffKind::only_in_a, "fusion", note);
    for (const std::string& note : of_b)
      if (of_a.count(note) == 0) add(DiffKind::only_in_b, "fusion", note);
  }

  // Values with another address in their arena, or in other memory.
  void compare_places() {
    std::map<std::string_view, const Slot*> in_b;
    for (const Slot& slot : b_.slots) in_b.emplace(slot.name, &slot);
    std::set<std::string_view> seen;
    for (const Slot& slot : a_.slots) {
      const auto found = in_b.find(slot.name);
      if (found == in_b.end() || !seen.insert(slot.name).second) continue;
      const std::string a = place_of(a_, slot), b = place_of(b_, *found->second);
      if (a != b) add_changed("value", slot.name, "place", a, b);
    }
  }

  static std::string place_of(const Plan& plan, const Slot& slot) {
    if (slot.storage == Storage::in_state) return "state";
    if (slot.storage == Storage::as_constant) return "constant";
    const Block& block = plan.blocks[static_cast<std::size_t>(slot.index)];
    return join(text_of(plan.workers[static_cast<std::size_t>(block.worker)]), "+", block.offset);
  }

  const Plan &a_, &b_;
  Changes& changes_;
};

}  // namespace

void add_plan_changes(const Plan& a, const Plan& b, Changes& changes) {
  PlanComparison(a, b, changes).run();
}

}  // namespace lockstep
