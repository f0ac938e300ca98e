// Checkpoints: the state of a session as a safetensors file. A state whose replicas are equal is
// stored once under its name without scope, so a checkpoint fits any number of replicas; one whose
// replicas differ (running statistics) is stored as name, name@1, name@2, ...
#pragma once

#include <functional>
#include <map>
#include <string>

#include "graph/error.h"
#include "runtime/state/session.h"

namespace lockstep {

using Metadata = std::map<std::string, std::string>;

// A checkpoint cannot be gone on from: it is not whole, or holds numbers that are none.
class Damaged : public Error {
 public:
  Damaged(std::string path, const std::string& what) : Error(what), path_(std::move(path)) {}
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Of a run of several processes rank 0 reads and writes the file; all call alike.

struct CheckpointOptions {
  bool keep_previous = false;  // what `path` was is then called previous_of(path)
};
// Written whole or not at all: on any failure, a full disk too, the old file stays as it was.
void save_checkpoint(Session& session, const std::string& path, const Metadata& metadata,
                     const CheckpointOptions& options = {});
// run/checkpoint.safetensors: run/checkpoint.previous.safetensors.
std::string previous_of(const std::string& path);

// Throws naming what is damaged, missing or has another shape; the session is unchanged then.
// `look` sees the metadata before any tensor is compared and may throw: it knows what they were
// saved with.
using LookAtMetadata = std::function<void(const Metadata&)>;
Metadata load_checkpoint(Session& session, const std::string& path,
                         const LookAtMetadata& look = {});
// Of a whole checkpoint; throws as load_checkpoint does.
Metadata checkpoint_metadata(const std::string& path);
// Was it written before checkpoints carried checksums?
bool lacks_checksums(const Metadata& metadata);

// A parameter, statistic or slot that no training goes on from: "'fc1_w' is nan at [0,3]", or "".
// Gradients that wait, and what scales a loss, may be infinite for a step.
std::string lost_value(const Session& session);

}  // namespace lockstep
