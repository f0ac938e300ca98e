// SPDX-License-Identifier: Apache-2.0
// The memory that a plan needs on a device, against a limit, and the values that take most of it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "runtime/plan/plan.h"
#include "runtime/plan/planned_memory.h"

namespace lockstep {

// The memory of the plan of a training run, whose loader reads minibatches ahead, as for a
// CONFIG.yaml (memory_with_loader()). A plan does not know the bytes of a feed that no step reads,
// so these are left out.
PlannedMemory memory_of_run(const Plan& plan);

// The largest need of one memory: the host's for all CPU replicas together, a GPU's for its own
// replicas. `memory`: of the whole plan, with the loader.
struct MemoryNeed {
  std::size_t bytes = 0;
  std::string of = "";  // "the process", "gpu:1"
  int worker = 0;       // the worker with the most memory there
};
MemoryNeed need_of(const Plan& plan, const PlannedMemory& memory);

// "needs 19.2 GiB, has 16 GiB: 3.2 GiB are missing"; without a limit (0) "needs 19.2 GiB".
std::string text_of(const MemoryNeed& need, std::size_t limit);

struct LargeValue {
  std::string name;
  std::size_t bytes = 0;
  std::string kind;  // "arena", "state", "kept"
};
// The largest blocks, states and kept values of one worker, at most `count`. A block has the name
// of its first value; a workspace has the name of its step.
std::vector<LargeValue> largest_values(const Plan& plan, int worker, std::size_t count);

}  // namespace lockstep
