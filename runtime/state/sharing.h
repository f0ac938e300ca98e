// Which states the replicas of a session keep once: what all have in common and is equal when a
// program is planned, until a program or different feeds make the replicas differ.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "graph/passes/share.h"
#include "runtime/plan/plan.h"
#include "runtime/state/states.h"

namespace lockstep {

class Sharing {
 public:
  // `states` must outlive it. Unless `allowed`, each replica has its own.
  Sharing(States& states, bool allowed) : states_(states), allowed_(allowed) {}

  // What a planned program is for.
  struct Use {
    const std::vector<Binding>& updates;
    bool initial = false;  // sets the first values
    bool chooses = false;  // decides how states lie
  };

  bool allowed() const { return allowed_; }
  // Of what all replicas have in common, the states that are equal now.
  InCommon common(const TrainingModel& model, bool initial) const;
  // Puts into one memory what the plan shares. What it updates apart, or reads apart if it chooses
  // how states lie, gets memory of its own and stays apart.
  void arrange(const Plan& plan, const Use& use);
  // All start equal again.
  void start_anew() { apart_.clear(); }
  // Replicas were fed different rates: each has its own from now on.
  void end();

 private:
  States& states_;
  bool allowed_;
  // First names of states that a program does not keep equal: they stay apart until start_anew(),
  // so that programs that take turns are not planned again each time.
  std::set<std::string> apart_;
};

}  // namespace lockstep
