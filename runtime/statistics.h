// Running statistics while a network predicts.
#pragma once

#include "runtime/session.h"

namespace lockstep {

// While it lives, every rank of a run predicts with the statistics of replica 0 of all, as the
// process that saves the model does; afterwards each has its own again. All ranks make one alike.
class SharedStatistics {
 public:
  explicit SharedStatistics(Session& session);
  ~SharedStatistics();
  SharedStatistics(const SharedStatistics&) = delete;

 private:
  Session& session_;
  StateValues own_;
};

}  // namespace lockstep
