// SPDX-License-Identifier: Apache-2.0
// Loading weights by name from other files.
#pragma once

#include <string>
#include <vector>

#include "lockstep/session.h"

namespace lockstep {

// True for a part of the network. Other states (momentum, deferred gradients, loss scale) belong to
// a run's training and start anew.
bool is_weight(StateKind kind);

// Throws if the file cannot be read or is damaged. For a run's newest checkpoint the error names
// the previous checkpoint if that file is intact.
void check_weights(const std::string& path);

struct WeightsOptions {
  std::string path;  // .safetensors
  bool new_classifier =
      false;  // tensors that differ only in the number of classes keep their initial values
  int64_t classes = 0;
  bool whole = false;  // the file must have all tensors of the network
  // true: the parameters themselves, even if the file has their averages (w_ema).
  bool raw = false;
};

// Lines for the user.
struct WeightsReport {
  std::vector<std::string> lines;
  std::vector<std::string> unchecked;  // the line about a file without checksums, if any
};

// Loads the file's tensors into every replica, by the names of the model's parameters and running
// statistics. A parameter gets its average if the file has one; averages of the model start at
// their parameters. With several processes rank 0 reads the file and sends each tensor by its name.
// All processes make the same call; only rank 0 has lines. The lines give the number of matches,
// tensors missing from the file, and unused tensors of the file. Throws, listing all of them, for
// different shapes, and if nothing matches; the session is then unchanged.
WeightsReport load_weights(Session& session, const WeightsOptions& options);
// Loads the tensors of a file in memory.
WeightsReport load_weights(Session& session, const StateValues& tensors,
                           const WeightsOptions& options);

}  // namespace lockstep
