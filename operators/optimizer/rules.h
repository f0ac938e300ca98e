// The update rules.
#pragma once

#include "operators/optimizer/adam.h"
#include "operators/optimizer/momentum.h"

namespace lockstep {

// visit.operator()<Rule>() for each: operators, kernels and fusion are made from this list.
template <class Visit>
void for_each_update_rule(const Visit& visit) {
  visit.template operator()<MomentumRule>();
  visit.template operator()<AdamRule>();
}

}  // namespace lockstep
