// SPDX-License-Identifier: Apache-2.0
// A made-up batch in the host's memory, which travels to the devices at every step.
#pragma once

#include <map>
#include <string>

#include "graph/training.h"
#include "runtime/feeds.h"

namespace lockstep {

class FedBatch {
 public:
  // Of that many rows over all replicas, for all inputs of the role of data.
  FedBatch(const TrainingModel& model, int64_t rows, int64_t classes);
  // `feeds` refer to it.
  void set(Feeds& feeds) const;

 private:
  std::map<std::string, Literal> inputs_;
};

}  // namespace lockstep
