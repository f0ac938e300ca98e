// SPDX-License-Identifier: Apache-2.0
// Lockstep's operators in a step's file: each operator has a case with valid operands.
#include <gtest/gtest.h>

#include <set>

#include "lockstep/operators.h"
#include "tests/operators/hostile.h"

namespace lockstep::testing {
namespace {

bool needs_others(const OpCase& c) { return all_ops().find(c.domain, c.type)->exchange; }

class OwnOperators : public ::testing::TestWithParam<OpCase> {};

TEST_P(OwnOperators, AreTakenWhereTheirOperandsFit) {
  if (needs_others(GetParam()))
    build(GetParam());
  else
    hostile::run(GetParam());
}

// The batch is symbolic in a step's file and known in a plan.
TEST_P(OwnOperators, AreTakenWithAnOpenBatch) {
  OpCase open = GetParam();
  open.symbolic_batch = true;
  if (open.type == "WeightedSum" || open.type.find("Update") != std::string::npos)
    GTEST_SKIP() << "the operands are parameters, with known sizes";
  build(open);
}

INSTANTIATE_TEST_SUITE_P(Cases, OwnOperators, ::testing::ValuesIn(own_operator_cases()),
                         [](const auto& each) {
                           std::string name = each.param.name;
                           std::erase(name, ' ');
                           return name;
                         });

TEST(OwnOperatorCases, AreOfEach) {
  std::set<std::string> known;
  for (const OpCase& c : own_operator_cases()) known.insert(c.type);
  for (const Op& op : all_ops().ops())
    EXPECT_TRUE(op.domain != kOwnDomain || known.contains(op.type)) << op.type;
}

}  // namespace
}  // namespace lockstep::testing
