// SPDX-License-Identifier: Apache-2.0
// A made-up batch in the host's memory, which is copied to the devices at every step.
#pragma once

#include <map>
#include <string>

#include "lockstep/feeds.h"
#include "lockstep/training_model.h"

namespace lockstep {

class FedBatch {
 public:
  // Makes `rows` rows over all replicas, for all inputs with the role of data.
  FedBatch(const TrainingModel& model, int64_t rows, int64_t classes);
  // `feeds` refer to this batch afterwards.
  void set(Feeds& feeds) const;

 private:
  std::map<std::string, Literal> inputs_;
};

}  // namespace lockstep
