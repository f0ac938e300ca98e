// SPDX-License-Identifier: Apache-2.0
// SOLVER.TYPE: a run's optimiser, and the numbers of all optimisers.
#pragma once

#include <string>
#include <vector>

#include "lockstep/optimizers.h"

namespace lockstep {

struct Solver {
  std::string type = "SGD";
  float momentum = MomentumSgd{}.momentum;
  bool nesterov = false;  // an older spelling of the type
  float beta1 = Adam{}.beta1, beta2 = Adam{}.beta2, epsilon = Adam{}.epsilon;
  float alpha = RmsProp{}.alpha, rmsprop_momentum = RmsProp{}.momentum;
  float rate_decay = Adagrad{}.rate_decay;
  float initial_accumulator = Adagrad{}.initial_accumulator;
  float trust = Lars{}.trust;
};

// "SGD, Nesterov, .. or LARS"
std::string solver_types();
std::vector<std::string> solver_type_names();
// The solver's type, from either spelling.
std::string type_of(const Solver& solver);
// Throws naming the invalid key.
void check_solver(const Solver& solver);
// `correct_momentum` is for a jump of the rate, in optimisers with momentum. Throws for an unknown
// type.
Optimizer optimizer_of(const Solver& solver, bool correct_momentum);

}  // namespace lockstep
