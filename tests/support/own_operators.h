// Every operator of our own domain in a case that it takes: what hostile operands are made from,
// and what fuzzing begins with.
#pragma once

#include "tests/support/op_case.h"

namespace lockstep::testing {

// In some of them an operator has operands that only plans give it. Exchanges with other processes
// can be built, but not run by one alone.
const std::vector<OpCase>& own_operator_cases();
const OpCase& own_operator_case(const std::string& name);

}  // namespace lockstep::testing
