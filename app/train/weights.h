// SPDX-License-Identifier: Apache-2.0
// Loading weights by name from other files.
#pragma once

#include <string>
#include <vector>

#include "runtime/state/session.h"

namespace lockstep {

// Part of the network. Other states (momentum, deferred gradients, loss scale) belong to a run's
// training and start anew.
bool is_weight(StateKind kind);

// Throws if the file cannot be read or is damaged; for a run's newest checkpoint the error then
// names the one before it, if that is whole.
void check_weights(const std::string& path);

struct WeightsOptions {
  std::string path;  // .safetensors
  bool new_classifier =
      false;  // tensors that differ in the number of classes alone stay as they are
  int64_t classes = 0;
  bool whole = false;  // the file must hold all of them
};

// Lines for the user.
struct WeightsReport {
  std::vector<std::string> lines;
  std::vector<std::string> unchecked;  // the line about a file without checksums, if it has none
};

// Loads into every replica the file's tensors with the names of the model's parameters and running
// statistics. With several processes rank 0 reads the file and passes each tensor on by its name;
// all make the same call, and only rank 0 has lines. Returns lines for the user: the number of
// matches, tensors missing from the file, tensors in the file without a use. Throws, listing all of
// them, for different shapes, and if nothing matches; the session is then unchanged.
WeightsReport load_weights(Session& session, const WeightsOptions& options);
// The same with the tensors of a file that has been read.
WeightsReport load_weights(Session& session, const StateValues& tensors,
                           const WeightsOptions& options);

}  // namespace lockstep
