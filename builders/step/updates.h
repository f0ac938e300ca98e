// SPDX-License-Identifier: Apache-2.0
// Updates of one replica's states after the step. Each function returns the states' new values.
#pragma once

#include <vector>

#include "builders/optimizers/optimizer.h"
#include "builders/step/one_replica.h"
#include "builders/step/param_rules.h"
#include "builders/step/statistics.h"

namespace lockstep {

// For steps that may be skipped: the first bad gradient of the step before any sum, among the
// summed ones, and of the sum.
struct Flags {
  Value unsound, origin, skipped;
};

// Replaces the gradients by those of the previous step and stores this step's.
std::vector<Binding> defer(OneReplica& one);

struct StatisticsOptions {
  StatisticsPolicy policy = StatisticsPolicy::each;
  int replicas = 1;
  bool deferred = false;      // gradients are deferred
  bool synchronised = false;  // statistics are already those of all replicas
};
std::vector<Binding> update_statistics(OneReplica& one, const StatisticsOptions& options,
                                       const Flags& flags);

// The state that counts updates, for optimisers that need it.
inline constexpr const char* kUpdatesMade = "updates_made";
// Adds the optimiser's feeds.
std::vector<Binding> update_parameters(OneReplica& one, const Optimizer& optimizer,
                                       const ParamRules& rules, const Flags& flags);

}  // namespace lockstep
