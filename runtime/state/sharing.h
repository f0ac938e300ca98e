// SPDX-License-Identifier: Apache-2.0
// Which states the replicas of a session may keep once: those that all have in common and that are
// equal when a program is planned. (Which of them a plan does: graph/passes/share.h.) Programs,
// values and feeds that make replicas differ separate them.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "graph/passes/share.h"
#include "runtime/exec/states.h"
#include "runtime/plan/plan.h"

namespace lockstep {

class Sharing {
 public:
  // `states` must outlive it. Unless `allowed`, each replica has states of its own.
  Sharing(States& states, bool allowed) : states_(states), allowed_(allowed) {}

  // The program that is planned.
  struct Use {
    const std::vector<Binding>& updates;
    bool initial = false;  // it sets the first values
    bool chooses = false;  // it decides how states lie
  };

  bool allowed() const { return allowed_; }
  // What the program may share: of the states that all replicas have in common, those equal now.
  InCommon may_share(const TrainingModel& model, const Use& use) const;
  // Puts into one memory what the plan shares. What it updates apart, or reads apart if it chooses
  // how states lie, gets memory of its own and stays apart.
  void arrange(const Plan& plan, const Use& use);
  // Before new initial values: states that were kept apart may be shared again.
  void start_anew() { apart_.clear(); }
  // Gives each replica states of its own from now on: they were fed different rates.
  void separate_for_good();

 private:
  States& states_;
  bool allowed_;
  // First names of states that a program does not keep equal: they stay apart until start_anew(),
  // so that programs that take turns are not planned again each time.
  std::set<std::string> apart_;
};

}  // namespace lockstep
