// What one replica's states become after the step. Each function answers with what its states take.
#pragma once

#include <vector>

#include "builders/optimizers/optimizer.h"
#include "builders/step/one_replica.h"
#include "builders/step/param_rules.h"
#include "builders/step/statistics.h"

namespace lockstep {

// Where steps may be skipped: the first bad gradient of the step before any sum, of what is summed,
// and of the sum.
struct Flags {
  Value unsound, origin, skipped;
};

// From here on gradients are those of the step before; this step's wait.
std::vector<Binding> defer(OneReplica& one);

struct StatisticsOptions {
  StatisticsPolicy policy = StatisticsPolicy::each;
  int replicas = 1;
  bool deferred = false;      // gradients wait
  bool synchronised = false;  // the statistics are of all replicas as they are made
};
std::vector<Binding> update_statistics(OneReplica& one, const StatisticsOptions& options,
                                       const Flags& flags);

// The state that counts the updates that were made, for optimisers that want to know.
inline constexpr const char* kUpdatesMade = "updates_made";
// Feeds what the optimiser is fed with.
std::vector<Binding> update_parameters(OneReplica& one, const Optimizer& optimizer,
                                       const ParamRules& rules, const Flags& flags);

}  // namespace lockstep
