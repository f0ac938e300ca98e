// SPDX-License-Identifier: Apache-2.0
// Plans of the models that commands look at, without a run.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/model_source.h"
#include "runtime/plan/compile.h"
#include "runtime/plan/plan.h"
#include "runtime/plan/planned_memory.h"

namespace lockstep {

inline constexpr int64_t kMostExamples = 1 << 24;  // of a replica, in options of commands

// The devices to plan for: the user's, or as many CPUs as the step needs; only replica 0's for a
// prediction.
std::vector<Device> devices_of(const SourcedModel& source, bool inference);

// The request that a session would make for the step, or for a prediction, with shapes of this
// source's batch. Throws if a part of a replica's share has no rows.
CompileRequest plan_request(const SourcedModel& source, bool inference, std::vector<Device> devices,
                            const std::vector<KernelTable>& kernels);

// The rows of the batch on each replica.
int64_t rows_of_replica(const SourcedModel& source, int replica);

// The memory of the plan with the minibatches on the host: of a configuration as many as its loader
// reads ahead, of other sources one.
PlannedMemory memory_with_loader(const SourcedModel& source, const CompileRequest& request,
                                 const Plan& plan);

// A plan for looking at, which may need more memory than is free. No plan for a graph that takes
// too long to plan for a summary, or that cannot be planned; `why` then has the reason.
struct LookedAt {
  std::optional<Plan> plan;
  std::string why;
  PlannedMemory memory;  // with the loader; empty without a plan
};
LookedAt looked_at(const SourcedModel& source);

}  // namespace lockstep
