#include "tools/train/solver.h"

#include <iterator>
#include <vector>

#include "builders/optimizers/nesterov.h"
#include "graph/graph.h"

namespace lockstep {
namespace {

struct SolverType {
  const char* name;
  Optimizer (*make)(const Solver& solver, bool correct_momentum);
};

const SolverType kTypes[] = {
    {"SGD",
     [](const Solver& s, bool correct) -> Optimizer {
       return MomentumSgd{s.momentum, correct && s.momentum > 0};
     }},
    {"Nesterov",
     [](const Solver& s, bool correct) -> Optimizer {
       return Nesterov{s.momentum, correct && s.momentum > 0};
     }},
    {"Adam",
     [](const Solver& s, bool) -> Optimizer {
       return Adam{s.beta1, s.beta2, s.epsilon};
     }},
};

}  // namespace

std::string solver_types() {
  std::string text;
  for (std::size_t i = 0; i < std::size(kTypes); ++i)
    text += join(i == 0 ? "" : i + 1 < std::size(kTypes) ? ", " : " or ", kTypes[i].name);
  return text;
}

std::string type_of(const Solver& solver) {
  if (!solver.nesterov) return solver.type;
  check(solver.type == "SGD" || solver.type == "Nesterov", "is ", solver.type,
        ", but SOLVER.NESTEROV is true");
  return "Nesterov";
}

void check_solver(const Solver& solver) {
  for (auto [key, share] :
       {std::pair("MOMENTUM", solver.momentum), {"BETA1", solver.beta1}, {"BETA2", solver.beta2}})
    check(share >= 0 && share < 1, "SOLVER.", key, " is ", share, ", should be from 0 to below 1");
  check(solver.epsilon > 0, "SOLVER.EPSILON is ", solver.epsilon, ", should be above 0");
  try {
    optimizer_of(solver, false);
  } catch (const Error& error) {
    fail("SOLVER.TYPE: ", error.what());
  }
}

Optimizer optimizer_of(const Solver& solver, bool correct_momentum) {
  const std::string name = type_of(solver);
  std::vector<std::string> names;
  for (const SolverType& type : kTypes) {
    if (type.name == name) return type.make(solver, correct_momentum);
    names.emplace_back(type.name);
  }
  const std::string near = nearest(name, names);
  fail("'", name, "' is none of ", solver_types(),
       near.empty() ? "" : "; did you mean " + near + "?");
}

}  // namespace lockstep
