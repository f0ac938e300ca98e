// SPDX-License-Identifier: Apache-2.0
// Invalid cases of Lockstep's operators, which shape inference must refuse with an error that names
// the defect.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "lockstep/operators.h"
#include "tests/support/case_run.h"
#include "tests/support/expect_error.h"
#include "tests/support/own_operators.h"

namespace lockstep::testing::hostile {

struct Hostile {
  std::string name;  // of the invalid case
  std::function<void(OpCase&)> spoil;
  std::string why;
};
inline void PrintTo(const Hostile& hostile, std::ostream* out) {
  *out << hostile.name << ": " << hostile.why;
}

// Functions that make a case invalid.
inline auto operand(std::size_t i, const CaseInput& input) {
  return [=](OpCase& c) { c.inputs.at(i) = input; };
}
inline auto attribute(const std::string& name, const AttributeValue& value) {
  return [=](OpCase& c) {
    std::erase_if(c.attributes, [&](const auto& each) { return each.first == name; });
    c.attributes.emplace_back(name, value);
  };
}
inline auto outputs(int count) {
  return [=](OpCase& c) { c.outputs = count; };
}
inline CaseInput empty(DType dtype, const Dims& dims) { return given(Literal(dtype, dims)); }
inline AttributeValue sizes(std::vector<int64_t> list) { return list; }

// Runs the case as a plan of one replica, with guards around every buffer.
inline void run(const OpCase& c) {
  const Built built = build(c);
  std::vector<std::string> fetches;
  for (Value output : built.outputs) fetches.push_back(built.graph.name(output));
  CaseRunner(built.graph, c, built.feeds, fetches, guarded()).run(fed_values(c));
}

inline void expect_refused_by_name(const Hostile& hostile) {
  OpCase spoilt = own_operator_case(hostile.name);
  hostile.spoil(spoilt);
  expect_error([&] { run(spoilt); }, "node (" + spoilt.type, hostile.why);
}

}  // namespace lockstep::testing::hostile
