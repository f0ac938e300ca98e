// SPDX-License-Identifier: Apache-2.0
// A valid case of every operator of Lockstep's domain: the basis of hostile operands and of
// fuzzing.
#pragma once

#include "tests/support/op_case.h"

namespace lockstep::testing {

// Some cases have operands that only plans use. A single process can build the exchanges with other
// processes, but cannot run them.
const std::vector<OpCase>& own_operator_cases();
const OpCase& own_operator_case(const std::string& name);

}  // namespace lockstep::testing
