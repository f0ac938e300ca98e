// Weights from elsewhere, by name.
#pragma once

#include <string>
#include <vector>

#include "runtime/state/session.h"

namespace lockstep {

// What the network is. The rest (momentum, waiting gradients, the scale of the loss) is how a run
// trains it, and begins anew.
bool is_weight(StateKind kind);

// Throws where the file cannot be read or is damaged; of a run's newest checkpoint the error then
// names the one before it, if that is whole.
void check_weights(const std::string& path);

struct WeightsOptions {
  std::string path;  // .safetensors
  bool new_classifier =
      false;  // tensors that differ in the number of classes alone stay as they are
  int64_t classes = 0;
  bool whole = false;  // the file must hold all of them
};

// Every replica takes what the file holds under the names of the model's parameters and running
// statistics. Lines for people: how many matched, what the model has and the file lacks, what the
// file has and nobody took. Throws, listing all of them, for shapes that differ, and when nothing
// matches; the session is unchanged then.
std::vector<std::string> load_weights(Session& session, const WeightsOptions& options);

}  // namespace lockstep
