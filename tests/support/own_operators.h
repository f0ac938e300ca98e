// SPDX-License-Identifier: Apache-2.0
// A valid case of every operator of our own domain: the basis of hostile operands and of fuzzing.
#pragma once

#include "tests/support/op_case.h"

namespace lockstep::testing {

// Some cases have operands that only plans use. Exchanges with other processes can be built, but
// not run by a single process.
const std::vector<OpCase>& own_operator_cases();
const OpCase& own_operator_case(const std::string& name);

}  // namespace lockstep::testing
