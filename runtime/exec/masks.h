// Infinities that a network wants: a mask is a constant of -inf, and what comes of it is infinite
// until an operator, as softmax does, makes it finite again. Such a value is no fault; a NaN is one
// wherever it stands.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/plan/plan.h"

namespace lockstep {

class Masks {
 public:
  // Before a run whose values are all looked at.
  void begin(const Plan& plan);

  struct Fault {
    int output = -1;  // of the step; -1: there is none
    int64_t place = -1;
  };
  // In what the step made. Steps are asked for after those whose values they take.
  Fault fault_in(const Plan& plan, const PlanStep& step, std::span<const Tensor> made);

 private:
  bool masked(const Plan& plan, int slot) const;

  std::vector<char> literals_;  // which of them hold an infinity: constants stay what they are
  std::vector<char>
      blocks_;  // which hold one that a mask brought; char: workers write side by side
};

}  // namespace lockstep
