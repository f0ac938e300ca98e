// SPDX-License-Identifier: Apache-2.0
// Runs a case of the operator harness: its graph, its device, its buffers.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lockstep/operators.h"
#include "lockstep/session_options.h"
#include "runtime/exec/executor.h"
#include "runtime/exec/states.h"
#include "runtime/exec/workers.h"
#include "runtime/plan/compile.h"
#include "tests/support/op_case.h"

namespace lockstep::testing {

// A graph of the case's node. Fed inputs are named x0, x1, .., outputs y0, y1, ...
struct Built {
  Graph graph{all_ops(), "case"};
  std::vector<std::string> feeds;
  std::vector<Value> inputs;
  std::vector<Value> outputs;
};

Built build(const OpCase& c);

// Cases run on the CPU or on LOCKSTEP_CASE_DEVICE, a GPU or a CPU behind queues. A GPU has a larger
// tolerance, and a still larger tolerance if LOCKSTEP_CASE_PRECISION is tf32.
double device_tolerance();
bool runs_on_the_cpu();
bool rounds_to_tf32();

enum class Where { as_asked, cpu };

class CaseRunner {
 public:
  CaseRunner(const Graph& graph, const OpCase& c, const std::vector<std::string>& feeds,
             const std::vector<std::string>& fetches, const CompileOptions& options,
             Where where = Where::as_asked);
  std::vector<Literal> run(const std::vector<Literal>& values);

 private:
  CompileOptions options_;
  States store_;
  Workers workers_;
  std::unique_ptr<Executor> executor_;
};

// Gives every buffer its own memory between guard bytes.
CompileOptions guarded();

std::vector<Literal> fed_values(const OpCase& c);
Doubles to_doubles(const Literal& literal);
Literal of_doubles(const std::vector<double>& values, const Dims& dims,
                   DType dtype = DType::float32);
void expect_near(const Doubles& expected, const Literal& found, double tolerance,
                 const std::string& what);

}  // namespace lockstep::testing
