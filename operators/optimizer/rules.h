// SPDX-License-Identifier: Apache-2.0
// The list of update rules.
#pragma once

#include "operators/optimizer/adagrad.h"
#include "operators/optimizer/adam.h"
#include "operators/optimizer/adamw.h"
#include "operators/optimizer/lion.h"
#include "operators/optimizer/momentum.h"
#include "operators/optimizer/rmsprop.h"

namespace lockstep {

// Calls visit.operator()<Rule>() for each rule. Operators, kernels and fusion are made from this
// list.
template <class Visit>
void for_each_update_rule(const Visit& visit) {
  visit.template operator()<MomentumRule>();
  visit.template operator()<AdamRule>();
  visit.template operator()<AdamWRule>();
  visit.template operator()<RmsPropRule<false>>();
  visit.template operator()<RmsPropRule<true>>();
  visit.template operator()<AdagradRule>();
  visit.template operator()<LionRule>();
}

}  // namespace lockstep
