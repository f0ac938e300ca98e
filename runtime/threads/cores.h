// SPDX-License-Identifier: Apache-2.0
// The cores that a process may use, and their threads' share for each of its replicas.
#pragma once

namespace lockstep {

int cpu_cores();  // available to this process
// The default number of threads of each of `replicas` CPU replicas.
int threads_per_replica(int replicas);

}  // namespace lockstep
