// SPDX-License-Identifier: Apache-2.0
// Updates of one replica's states after the step. Each function returns the new values.
#pragma once

#include <vector>

#include "builders/step/one_replica.h"
#include "builders/step/param_rules.h"
#include "builders/step/statistics.h"
#include "lockstep/optimizers.h"

namespace lockstep {

// Indices of the first non-finite gradient, or -1, for steps that may be skipped: `unsound` among
// this step's own gradients (deferred gradients only), `origin` among the gradients before the sum,
// `skipped` among the sums.
struct Flags {
  Value unsound, origin, skipped;
};

// Replaces the gradients by the previous step's gradients and stores this step's gradients.
std::vector<Binding> defer(OneReplica& one);

struct StatisticsOptions {
  StatisticsPolicy policy = StatisticsPolicy::each;
  int replicas = 1;
  bool deferred = false;      // gradients are deferred
  bool synchronised = false;  // statistics are already over all replicas
};
std::vector<Binding> update_statistics(OneReplica& one, const StatisticsOptions& options,
                                       const Flags& flags);

// The state that counts updates, for optimisers that need it.
inline constexpr const char* kUpdatesMade = "updates_made";
// Adds the optimiser's feeds.
std::vector<Binding> update_parameters(OneReplica& one, const Optimizer& optimizer,
                                       const ParamRules& rules, const Flags& flags);

// Moves the averages towards the new parameters. `updates` are the bindings of parameters.
std::vector<Binding> update_averages(OneReplica& one, float decay,
                                     const std::vector<Binding>& updates, const Flags& flags);

}  // namespace lockstep
