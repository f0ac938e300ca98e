// SPDX-License-Identifier: Apache-2.0
// Checkpoints: the state of a session as a safetensors file. A state that is equal on all replicas
// is stored once under its name without scope, so a checkpoint fits any number of replicas. A state
// that differs by replica (running statistics) is stored as name, name@1, name@2, ...
#pragma once

#include <functional>
#include <map>
#include <string>

#include "lockstep/error.h"
#include "lockstep/session.h"

namespace lockstep {

using Metadata = std::map<std::string, std::string>;

// A checkpoint that cannot be resumed: incomplete, or with non-finite numbers.
class Damaged : public Error {
 public:
  Damaged(std::string path, const std::string& what) : Error(what), path_(std::move(path)) {}
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// With several processes, rank 0 reads and writes the file; all ranks make the same calls.

// Throws naming a state that a checkpoint could not store, because of its name.
void check_names_to_store(const TrainingModel& model);

struct CheckpointOptions {
  bool keep_previous = false;  // the old file is renamed to previous_of(path)
};
// Atomic: on any failure, even a full disk, the old file stays as it was.
void save_checkpoint(Session& session, const std::string& path, const Metadata& metadata,
                     const CheckpointOptions& options = {});
// run/checkpoint.safetensors: run/checkpoint.previous.safetensors.
std::string previous_of(const std::string& path);

// Throws naming what is damaged, missing or of another shape, and leaves the session unchanged.
// `look` gets the metadata before any tensor is compared; it may throw if the settings differ.
using LookAtMetadata = std::function<void(const Metadata&)>;
Metadata load_checkpoint(Session& session, const std::string& path,
                         const LookAtMetadata& look = {});
// The metadata of a whole checkpoint; throws as load_checkpoint does.
Metadata checkpoint_metadata(const std::string& path);
// True if the checkpoint was written before checkpoints carried checksums.
bool lacks_checksums(const Metadata& metadata);

// A non-finite parameter, statistic or slot, which rules out further training: "'fc1_w' is nan at
// [0,3]", or "". Pending gradients and loss scales may be infinite for a step.
std::string lost_value(const Session& session);

}  // namespace lockstep
