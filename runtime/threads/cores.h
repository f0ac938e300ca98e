// SPDX-License-Identifier: Apache-2.0
// Cores that this process may use, and threads for each replica.
#pragma once

namespace lockstep {

int cpu_cores();  // available to this process
// The default number of threads of each of `replicas` CPU replicas.
int threads_per_replica(int replicas);

// Is set in processes that share their cores with no other process of the run.
inline constexpr const char* kOwnCores = "LOCKSTEP_OWN_CORES";
// Keeps the calling process to cores of its own, so that no process moves to the core of another
// one. Returns false, and changes nothing, if the cores do not divide equally among the processes.
bool keep_to_share_of_cores(int process, int processes);

}  // namespace lockstep
