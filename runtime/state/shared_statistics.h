// SPDX-License-Identifier: Apache-2.0
// Running statistics differ by replica; predictions use replica 0's.
#pragma once

#include <functional>

#include "lockstep/session.h"

namespace lockstep {

// Runs `predict` with replica 0's running statistics on every replica of all processes, then
// restores the statistics of each replica. All processes make the same call. If `predict` throws,
// the run is over, and the session's state is lost.
void with_statistics_of_replica_0(Session& session, const std::function<void()>& predict);

}  // namespace lockstep
