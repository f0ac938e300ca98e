// SPDX-License-Identifier: Apache-2.0
// The file of --state: a checkpoint with which a later call of `lockstep step` continues.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "app/step/config.h"
#include "lockstep/checkpoint.h"
#include "lockstep/session.h"

namespace lockstep {

class StepStateFile {
 public:
  // `rows`: of a step. Throws naming a state that the file could not store.
  StepStateFile(const StepRequest& request, const StepConfig& config, const Session& session,
                int64_t rows);

  // Loads the states, and returns the number of completed steps. Without a file: nothing, and the
  // states are unchanged. Throws, naming key and values, for a file of other settings; for a file
  // of another network, and for a damaged file.
  std::optional<int64_t> read(Session& session);
  void write(Session& session, int64_t steps) const;

  // For people, after read(): where the steps continue, and settings that change their bits.
  const std::string& note() const { return note_; }

 private:
  std::string path_;
  Metadata equal_;               // settings that must be as in the file
  Metadata decides_;             // settings that may change, and then change bits
  std::set<std::string> names_;  // of parameters and running statistics
  int64_t replicas_;
  float decay_;  // of TRAIN.EMA
  std::string note_;
};

}  // namespace lockstep
