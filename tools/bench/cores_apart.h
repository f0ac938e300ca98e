// SPDX-License-Identifier: Apache-2.0
// The distance of two cores. Threads that share a kernel's work read data that other threads wrote.
// On cores without a common cache a step of one replica may take a third longer, a step with a
// replica for each core hardly longer. On a virtual machine the distance may change at any time.
#pragma once

#include <optional>

namespace lockstep {

// Seconds for a cache line to go there and back, between the first two cores that this process may
// use. None if it may use only one core.
std::optional<double> seconds_between_cores();

}  // namespace lockstep
