// SPDX-License-Identifier: Apache-2.0
#include "runtime/exec/executor.h"

#include <algorithm>
#include <set>

#include "lockstep/processes.h"
#include "runtime/accelerator.h"
#include "runtime/exec/queue_executor.h"
#include "runtime/exec/thread_executor.h"
#include "runtime/finite.h"
#include "runtime/plan/cached_values.h"

namespace lockstep {

namespace {

// Returns the session's states among the given operands or results of the steps.
std::vector<int> states_in(const Plan& plan, const std::vector<PlanStep>& steps,
                           std::vector<int> PlanStep::*slots) {
  std::set<int> states;
  for (const PlanStep& step : steps)
    for (const int slot : step.*slots)
      if (slot >= 0 && plan.slots[slot].storage == Storage::in_state)
        states.insert(plan.slots[slot].index);
  states.erase(states.lower_bound(static_cast<int>(plan.session_states())), states.end());
  return {states.begin(), states.end()};
}

}  // namespace

std::unique_ptr<Executor> make_executor(Plan plan, States& state, Workers& workers,
                                        Accelerator* accelerator, Comm* comm,
                                        std::shared_ptr<ArenaPool> arenas) {
  if (!arenas) arenas = std::make_shared<ArenaPool>(accelerator);
  if (accelerator)
    return std::make_unique<QueueExecutor>(std::move(plan), state, *accelerator, comm,
                                           std::move(arenas));
  return std::make_unique<ThreadExecutor>(std::move(plan), state, workers, std::move(arenas));
}

Executor::Executor(Plan plan, States& state, std::shared_ptr<ArenaPool> arenas)
    : held_(std::make_shared<Plan>(std::move(plan))),
      plan_(*held_),
      state_(state),
      arenas_(std::move(arenas)),
      writes_(states_in(plan_, plan_.steps, &PlanStep::out)),
      refreshed_by_(states_in(plan_, plan_.refresh, &PlanStep::in)) {}

bool Executor::begin_run() {
  bool stale = false;
  if (!plan_.refresh.empty()) {
    const ArenaPool::Kept& held = arenas_->held();
    const auto changed = [&](int state) { return state_.changed(state) > held.at; };
    const bool is_mine = held.identity && *held.identity == *plan_.cache_identity;
    stale = !is_mine || std::any_of(refreshed_by_.begin(), refreshed_by_.end(), changed);
    arenas_->hold({});
  }
  for (const int state : writes_) state_.note_change(state);
  return stale;
}

void Executor::end_run() {
  if (!plan_.refresh.empty()) arenas_->hold({plan_.cache_identity, state_.changes()});
}

bool Executor::bind() {
  arenas_->fit(plan_);
  if (bound_to_ == arenas_->moves()) return false;
  bind_plan(bound_, plan_,
            {state_, *arenas_, [this](int number, int worker) { return literal(number, worker); }});
  bound_to_ = arenas_->moves();
  return true;
}

void Executor::check_feeds(std::span<const Tensor> feeds) const {
  check(feeds.size() == plan_.feeds.size(), plan_.name, " takes ", plan_.feeds.size(),
        " feeds, was given ", feeds.size());
  for (std::size_t i = 0; i < feeds.size(); ++i) {
    if (plan_.feeds[i] < 0) continue;
    const TensorDesc& desc = plan_.slots[plan_.feeds[i]].desc;
    check(feeds[i].desc == desc, plan_.name, ": feed ", i, " is ", feeds[i].desc,
          ", but the plan is for ", desc);
    check(feeds[i].data || desc.count() == 0, plan_.name, ": input '",
          plan_.slots[plan_.feeds[i]].name, "' is fed ", desc, " without data: a null pointer");
  }
}

NotFinite Executor::not_finite_in(int step, std::span<const Tensor> made) {
  const PlanStep& of = plan_.steps[step];
  // Each worker writes a part of a collective's result, and the other workers may not have
  // finished. The operands have been checked, and the results of the collective's users will be.
  if (of.parts > 1) return {};
  const IntendedInfinities::BadOutput bad = intended_infinities_.bad_output(plan_, of, made);
  if (bad.output < 0) return {};
  const std::size_t i = bad.output;
  return {step, plan_.workers[of.worker].communicates(),
          join("'", plan_.slots[of.out[i]].name, "' (", of.type, " on ",
               text_of(plan_.workers[of.worker]), "): ", text_of_value(made[i], bad.place))};
}

void Executor::check_guards(std::size_t guard_bytes) const {
  std::vector<std::byte> guard(guard_bytes);
  for (const Block& block : plan_.blocks)
    for (const std::size_t from : {block.offset - guard_bytes, block.offset + block.bytes}) {
      read_arena(block.worker, from, guard);
      if (std::ranges::all_of(guard, [](std::byte b) { return b == ArenaPool::kFill; })) continue;
      for (const Slot& slot : plan_.slots)
        if (slot.storage == Storage::in_arena && &plan_.blocks[slot.index] == &block)
          fail("a kernel wrote outside '", slot.name, "' ", text_of(slot.desc));
      fail("a kernel wrote outside its workspace of ", block.bytes, " bytes");
    }
}

}  // namespace lockstep
