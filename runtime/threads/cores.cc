// SPDX-License-Identifier: Apache-2.0
#include "runtime/threads/cores.h"

#include <sched.h>

#include <algorithm>
#include <thread>

namespace lockstep {

int cpu_cores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1U, std::thread::hardware_concurrency());
}

int threads_per_replica(int replicas) { return std::max(1, cpu_cores() / std::max(1, replicas)); }

}  // namespace lockstep
