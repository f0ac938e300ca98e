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

bool keep_to_share_of_cores(int process, int processes) {
  cpu_set_t usable;
  if (sched_getaffinity(0, sizeof(usable), &usable) != 0) return false;
  const int share = CPU_COUNT(&usable) / processes;
  if (share * processes != CPU_COUNT(&usable)) return false;
  cpu_set_t own;
  CPU_ZERO(&own);
  for (int core = 0, seen = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &usable) && seen++ / share == process) CPU_SET(core, &own);
  return sched_setaffinity(0, sizeof(own), &own) == 0;
}

}  // namespace lockstep
