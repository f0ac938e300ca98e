// SPDX-License-Identifier: Apache-2.0
// Cores that this process may use, and threads for each replica.
#pragma once

namespace lockstep {

int cpu_cores();  // available to this process
// The default number of threads of each of `replicas` CPU replicas.
int threads_per_replica(int replicas);

}  // namespace lockstep
