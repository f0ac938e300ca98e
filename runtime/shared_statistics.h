// Running statistics while a network predicts.
#pragma once

#include <functional>

#include "runtime/session.h"

namespace lockstep {

// Calls `predict` while every rank of the run has the statistics of replica 0 of all, as the
// process that saves the model does; then each rank has its own again. All ranks call alike. When
// `predict` throws, the run is over and the session's state with it.
void with_statistics_of_rank_0(Session& session, const std::function<void()>& predict);

}  // namespace lockstep
