// SOLVER.TYPE: which optimiser a run has, and the numbers of all of them.
#pragma once

#include <string>

#include "builders/optimizers/adam.h"
#include "builders/optimizers/momentum_sgd.h"

namespace lockstep {

struct Solver {
  std::string type = "SGD";
  float momentum = MomentumSgd{}.momentum;
  bool nesterov = false;  // an older spelling of the type
  float beta1 = Adam{}.beta1, beta2 = Adam{}.beta2, epsilon = Adam{}.epsilon;
};

// "SGD, Nesterov or Adam"
std::string solver_types();
// The one that it is, whatever it is spelled as.
std::string type_of(const Solver& solver);
// Throws naming the key that does not fit.
void check_solver(const Solver& solver);
// `correct_momentum`: where the rate jumps, for those that have one. Throws for a type that is
// none.
Optimizer optimizer_of(const Solver& solver, bool correct_momentum);

}  // namespace lockstep
