// Running statistics differ by replica; what is predicted goes by those of replica 0.
#pragma once

#include <functional>

#include "runtime/state/session.h"

namespace lockstep {

// Runs `predict` with replica 0's running statistics on every replica, of all processes; then each
// has its own again. All processes call alike. When `predict` throws, the run is over and the
// session's state with it.
void with_statistics_of_replica_0(Session& session, const std::function<void()>& predict);

}  // namespace lockstep
