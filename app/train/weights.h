// SPDX-License-Identifier: Apache-2.0
// Loading weights by name from other files.
#pragma once

#include <string>
#include <vector>

#include "app/weights/match.h"
#include "lockstep/session.h"

namespace lockstep {

// Throws if the file cannot be read or is damaged. For a run's newest checkpoint the error names
// the previous checkpoint if that file is intact.
void check_weights(const std::string& path);

// Lines for the user.
struct WeightsReport {
  std::vector<std::string> lines;
  std::vector<std::string> unchecked;  // the line about a file without checksums, if any
};

// Loads the file's tensors into every replica, by the names of the model's parameters and running
// statistics. A parameter gets its average if the file has one; averages of the model start at
// their parameters. With several processes rank 0 reads the file and sends each tensor by its name.
// All processes make the same call; only rank 0 has lines. The lines give the number of matches,
// tensors missing from the file, and unused tensors of the file. Throws as matched_weights() does;
// the session is then unchanged.
WeightsReport load_weights(Session& session, const WeightsOptions& options);
// Loads the tensors of a file in memory.
WeightsReport load_weights(Session& session, const StateValues& tensors,
                           const WeightsOptions& options);

}  // namespace lockstep
