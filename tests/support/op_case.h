// SPDX-License-Identifier: Apache-2.0
// The operator harness. An operator's test is a table of OpCases. For each case, check_case()
// checks
//   - the kernel against a naive reference in double,
//   - guard bytes around every buffer,
//   - equal bits with overwritten operands, reused memory and views,
//   - finite differences against the gradient graph.
// If LOCKSTEP_CASE_DIR is set, cases are also written there as ONNX models with inputs and outputs,
// for tests/python/check_cases.py to run in ONNX Runtime. This applies to standard operators and to
// Lockstep's operators that have a body in standard operators.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "lockstep/attributes.h"

namespace lockstep::testing {

// A tensor of the naive reference.
struct Doubles {
  Dims dims;
  std::vector<double> values;
  double& operator[](int64_t i) { return values[i]; }
  double operator[](int64_t i) const { return values[i]; }
};
using Reference = std::function<std::vector<Doubles>(const std::vector<Doubles>&)>;

struct CaseInput {
  Literal value;
  bool differentiable = false;
  bool constant = false;  // known when the graph is built
  bool absent = false;    // an omitted optional operand
};
// Values in (-1, 1), separated from 0 and from each other. Neither ReLU nor a maximum switches
// within a finite difference.
CaseInput random(const Dims& dims, int seed = 1);
// Values in (0.5, 1.5).
CaseInput positive(const Dims& dims, int seed = 1);
CaseInput fixed(std::vector<int64_t> values);  // a constant vector of int64
CaseInput labels(std::vector<int64_t> values, const Dims& dims);
CaseInput given(Literal value);  // fed, not differentiable
CaseInput left_out();

struct OpCase {
  std::string name;
  std::string type;
  std::string domain = "";
  Attributes attributes = {};
  std::vector<CaseInput> inputs = {};
  int outputs = 1;
  Reference reference = nullptr;  // none: covered by another case or an oracle
  double tolerance = 1e-5;
  bool gradient = true;
  int loss_outputs = -1;        // the number of outputs in the loss; -1: all
  bool oracle = true;           // false: another engine cannot agree (random numbers)
  bool symbolic_batch = false;  // dimension 0 of every fed input is the symbolic dimension N
};
std::ostream& operator<<(std::ostream& out, const OpCase& c);

void check_case(const OpCase& c);

// A reference that computes each output element from the input elements at the same index.
Reference elementwise(std::function<double(const std::vector<double>&)> f);

}  // namespace lockstep::testing
