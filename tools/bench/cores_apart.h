// SPDX-License-Identifier: Apache-2.0
// How far two cores are from each other. Threads that share a kernel's work read what others wrote,
// so a step of one replica on cores that share no cache may take a third longer, of a replica for
// each core hardly. On a virtual machine this changes while it runs.
#pragma once

#include <optional>

namespace lockstep {

// Seconds for a cache line there and back, between the first two cores that this process may use;
// none if it may use only one.
std::optional<double> seconds_between_cores();

}  // namespace lockstep
