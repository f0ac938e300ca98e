// SPDX-License-Identifier: Apache-2.0
#include "app/train/solver.h"

#include <iterator>
#include <vector>

#include "graph/listed.h"
#include "graph/nearest.h"
#include "lockstep/graph.h"
#include "lockstep/optimizers.h"

namespace lockstep {
namespace {

struct SolverType {
  const char* name;
  std::vector<std::string> keys;  // of its numbers
  Optimizer (*make)(const Solver& solver, bool correct_momentum);
};

const std::vector<std::string> kAdamKeys{"SOLVER.BETA1", "SOLVER.BETA2", "SOLVER.EPSILON"};
const std::vector<std::string> kRmsPropKeys{"SOLVER.ALPHA", "SOLVER.RMSPROP_MOMENTUM",
                                            "SOLVER.EPSILON"};

const SolverType kTypes[] = {
    {"SGD",
     {"SOLVER.MOMENTUM"},
     [](const Solver& s, bool correct) -> Optimizer {
       return MomentumSgd{s.momentum, correct && s.momentum > 0};
     }},
    {"Nesterov",
     {"SOLVER.MOMENTUM"},
     [](const Solver& s, bool correct) -> Optimizer {
       return Nesterov{s.momentum, correct && s.momentum > 0};
     }},
    {"Adam", kAdamKeys,
     [](const Solver& s, bool) -> Optimizer {
       return Adam{s.beta1, s.beta2, s.epsilon};
     }},
    {"AdamW", kAdamKeys,
     [](const Solver& s, bool) -> Optimizer {
       return AdamW{s.beta1, s.beta2, s.epsilon};
     }},
    {"LAMB", kAdamKeys,
     [](const Solver& s, bool) -> Optimizer {
       return Lamb{s.beta1, s.beta2, s.epsilon};
     }},
    {"Lion",
     {"SOLVER.BETA1", "SOLVER.BETA2"},
     [](const Solver& s, bool) -> Optimizer {
       return Lion{s.beta1, s.beta2};
     }},
    {"RMSProp", kRmsPropKeys,
     [](const Solver& s, bool) -> Optimizer {
       return RmsProp{s.alpha, s.rmsprop_momentum, s.epsilon, false};
     }},
    {"CentredRMSProp", kRmsPropKeys,
     [](const Solver& s, bool) -> Optimizer {
       return RmsProp{s.alpha, s.rmsprop_momentum, s.epsilon, true};
     }},
    {"Adagrad",
     {"SOLVER.LR_DECAY", "SOLVER.INITIAL_ACCUMULATOR", "SOLVER.EPSILON"},
     [](const Solver& s, bool) -> Optimizer {
       return Adagrad{s.rate_decay, s.initial_accumulator, s.epsilon};
     }},
    {"LARS",
     {"SOLVER.MOMENTUM", "SOLVER.TRUST", "SOLVER.EPSILON"},
     [](const Solver& s, bool correct) -> Optimizer {
       return Lars{s.momentum, s.trust, s.epsilon, correct && s.momentum > 0};
     }},
};

const SolverType& type_named(const std::string& name) {
  if (const SolverType* const type = row_named(kTypes, name)) return *type;
  const std::string near = nearest(name, solver_type_names());
  fail("'", name, "' is not one of ", solver_types(),
       near.empty() ? "" : "; did you mean " + near + "?");
}

}  // namespace

std::string solver_types() { return listed_before(solver_type_names(), " or "); }

std::vector<std::string> solver_type_names() { return names_of_rows(kTypes); }

std::string type_of(const Solver& solver) {
  if (!solver.nesterov) return solver.type;
  check(solver.type == "SGD" || solver.type == "Nesterov", "is ", solver.type, ", but ",
        Key{"SOLVER.NESTEROV"}, " is true");
  return "Nesterov";
}

Optimizer optimizer_of(const Solver& solver, bool correct_momentum) {
  return type_named(type_of(solver)).make(solver, correct_momentum);
}

void check_solver(const Solver& solver) {
  std::vector<std::string> keys{"SOLVER.TYPE"};
  try {
    const SolverType& type = type_named(type_of(solver));
    keys = type.keys;
    type.make(solver, false);
  } catch (const Error& error) {
    fail(Phrase{listed_before(keys, " and "), {.keys = keys}}, ": ", error);
  }
}

}  // namespace lockstep
