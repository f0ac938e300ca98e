// SPDX-License-Identifier: Apache-2.0
// Chooses the states that a session's replicas may share: states that all replicas have in common
// and that are equal when a program is planned. The plan chooses among them (graph/passes/share.h).
// Programs, values and feeds that make replicas differ separate the states.
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
  // `states` must outlive the object. Unless `allowed`, each replica has separate states.
  Sharing(States& states, bool allowed) : states_(states), allowed_(allowed) {}

  // The program that is planned.
  struct Use {
    const std::vector<Binding>& updates;
    bool initial = false;  // sets the first values
    bool chooses = false;  // chooses the layouts of states
  };

  bool allowed() const { return allowed_; }
  // Returns the states that the program may share: states that replicas have in common and that are
  // equal now.
  InCommon may_share(const TrainingModel& model, const Use& use) const;
  // Shares the memory of the states that the plan shares. Separates a shared state that the plan
  // updates per replica, or that it reads per replica while it chooses layouts; the state stays
  // separate.
  void arrange(const Plan& plan, const Use& use);
  // Called before new initial values: states that were kept separate may be shared again.
  void start_anew() { apart_.clear(); }
  // Gives each replica separate states from now on: the replicas were fed different rates.
  void separate_for_good();

 private:
  States& states_;
  bool allowed_;
  // First names of states that a program does not keep equal. They stay separate until
  // start_anew(), so that alternating programs are not planned again each time.
  std::set<std::string> apart_;
};

}  // namespace lockstep
