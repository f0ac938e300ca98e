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

// Thrown for a checkpoint that cannot be resumed: missing, unreadable, damaged, or written by a run
// that had already failed (lost_value()).
class Damaged : public Error {
 public:
  Damaged(std::string path, const std::string& what) : Error(what), path_(std::move(path)) {}
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

struct CheckpointOptions {
  bool keep_previous = false;  // the old file is renamed to previous_of(path)
};
// Replaces the file atomically: on any failure, even a full disk, the old file stays as it was.
// With several processes every rank calls this function, and rank 0 writes the file.
void save_checkpoint(Session& session, const std::string& path, const Metadata& metadata,
                     const CheckpointOptions& options = {});
// The name of the file before: run/checkpoint.previous.safetensors for run/checkpoint.safetensors.
std::string previous_of(const std::string& path);

// Loads the state and returns the file's metadata. Throws Damaged for a checkpoint that cannot be
// resumed, and an Error naming a state that is missing or of another shape; the session is then
// unchanged. `look` gets the metadata before any tensor is compared; it may throw if the settings
// differ. With several processes every rank calls this function, and rank 0 reads the file.
using LookAtMetadata = std::function<void(const Metadata&)>;
Metadata load_checkpoint(Session& session, const std::string& path,
                         const LookAtMetadata& look = {});
// Reads and verifies the whole file, without a session, and returns its metadata. Throws Damaged
// for a file that is missing, unreadable or damaged.
Metadata checkpoint_metadata(const std::string& path);
// True if the checkpoint of this metadata was written before checkpoints had checksums.
bool lacks_checksums(const Metadata& metadata);

// Throws an Error naming a state that a checkpoint cannot store, because of its name.
void check_names_to_store(const TrainingModel& model);

// Names the first value that rules out further training, a NaN in a parameter or statistic, or a
// NaN or infinity in a slot: "'fc1_w' is nan at [0,3]". Returns "" if there is none. Pending
// gradients and loss scales are not examined, because they may be infinite for a step.
std::string lost_value(const Session& session);

}  // namespace lockstep
