// SPDX-License-Identifier: Apache-2.0
// Checks without the planner that a plan's waits suffice, from the memory of every step's operands.
#include "runtime/plan/waits.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "builders/all_reduce/spec.h"
#include "lockstep/operators.h"
#include "runtime/plan/plan.h"
#include "runtime/state/session_members.h"
#include "tests/support/step_feeds.h"

namespace lockstep::testing {
namespace {

// Steps of a plan that use the same bytes.
class UsesOfMemory {
 public:
  explicit UsesOfMemory(const Plan& plan) : plan_(plan) {
    for (std::size_t step = 0; step < plan.steps.size(); ++step) {
      const PlanStep& at = plan.steps[step];
      for (int slot : at.in) add(step, slot, false);
      for (int slot : at.out) add(step, slot, true);
      if (at.workspace >= 0) add_block(step, at.workspace, true);
    }
    note_what_is_over();
  }

  // Returns the number of pairs of steps on different workers in which one step writes bytes that
  // the other uses. The parts of a collective divide its memory among themselves.
  int expect_all_in_turn() const {
    int pairs = 0;
    for (std::size_t b = 0; b < uses_.size(); ++b)
      for (std::size_t a = 0; a < b; ++a) {
        const PlanStep &before = plan_.steps[uses_[a].step], &after = plan_.steps[uses_[b].step];
        if (before.worker == after.worker || !overlap(uses_[a], uses_[b]) ||
            (before.parts > 1 && before.node == after.node))
          continue;
        ++pairs;
        EXPECT_GE(over_[uses_[b].step][before.worker], place_[uses_[a].step])
            << after.name << " of worker " << after.worker << " does not wait for " << before.name
            << " of worker " << before.worker;
      }
    return pairs;
  }

 private:
  struct Use {
    std::size_t step;
    bool writes;
    int home;  // an arena; from -1 down: a state
    std::size_t begin, end;
  };

  void add(std::size_t step, int slot, bool writes) {
    if (slot < 0) return;
    const Slot& of = plan_.slots[slot];
    if (of.storage == Storage::in_arena) add_block(step, of.index, writes);
    if (of.storage == Storage::in_state) uses_.push_back({step, writes, -1 - of.index, 0, 1});
  }
  void add_block(std::size_t step, int number, bool writes) {
    const Block& block = plan_.blocks[number];
    uses_.push_back({step, writes, block.worker, block.offset, block.offset + block.bytes});
  }
  static bool overlap(const Use& a, const Use& b) {
    return (a.writes || b.writes) && a.home == b.home && a.begin < b.end && b.begin < a.end;
  }

  // Records the last step of each worker that has ended when a step begins.
  void note_what_is_over() {
    const std::size_t workers = plan_.workers.size();
    std::vector<std::vector<int>> known(workers, std::vector<int>(workers, -1));
    place_.resize(plan_.steps.size());
    for (std::size_t step = 0; step < plan_.steps.size(); ++step) {
      const PlanStep& at = plan_.steps[step];
      std::vector<int>& mine = known[at.worker];
      for (const Wait& wait : at.waits) {
        const auto other = static_cast<std::size_t>(plan_.workers[wait.worker].steps[wait.step]);
        mine[wait.worker] = std::max(mine[wait.worker], wait.step);
        for (std::size_t i = 0; i < workers; ++i) mine[i] = std::max(mine[i], over_[other][i]);
      }
      over_.push_back(mine);
      place_[step] = ++mine[at.worker];
    }
  }

  const Plan& plan_;
  std::vector<Use> uses_;
  std::vector<std::vector<int>> over_;  // by step, by worker
  std::vector<int> place_;              // of each step in its worker's list
};

TEST(Waits, MakeStepsThatUseTheSameMemoryTakeTurns) {
  struct Case {
    const char* name;
    TrainingModel model;
    bool shares = true;
  };
  const auto mlp_of = [](const char* spec, int replicas) {
    return small_mlp(replicas, MomentumSgd{},
                     {.replicas = replicas, .all_reduce = {.spec = parse_all_reduce(spec)}});
  };
  std::vector<Case> cases;
  cases.push_back({"collective", small_mlp(3)});
  cases.push_back({"states of their own", small_mlp(3), false});
  cases.push_back({"rings", mlp_of("xring#2", 3)});
  cases.push_back({"to the first and back", mlp_of("simple", 3), false});
  cases.push_back({"halving and doubling", mlp_of("rechd", 4), false});
  cases.push_back({"deferred", small_mlp(2, MomentumSgd{}, {.deferred = true})});
  cases.push_back({"micro-batches", small_mlp(2, MomentumSgd{}, {.micro_batches = 2})});
  for (const Case& each : cases) {
    SCOPED_TRACE(each.name);
    const int replicas = each.model.replicas;
    Session session(each.model, cpu_devices(replicas), all_kernels(),
                    {1, 1, {.share = each.shares}});
    StepFeeds feeds(each.model, 24, 5, {1, 6, 6});
    EXPECT_GT(UsesOfMemory(plan_of(session.step(), feeds.at(0, 0.1F))).expect_all_in_turn(), 0);
  }
}

}  // namespace
}  // namespace lockstep::testing
