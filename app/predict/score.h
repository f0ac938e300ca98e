// SPDX-License-Identifier: Apache-2.0
// lockstep test: scores trained weights.
#pragma once

#include <string>
#include <vector>

#include "app/config/files.h"
#include "lockstep/processes.h"

namespace lockstep {

struct ScoreOptions {
  std::string config, weights, out;
};

int score(const ScoreOptions& options, const ConfigFiles& files,
          const std::vector<std::string>& words, Comm* comm);

}  // namespace lockstep
