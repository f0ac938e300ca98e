// Checkpoints: the state of a session as a safetensors file. A state whose replicas are equal is
// stored once under its name without scope, so a checkpoint fits any number of replicas; one whose
// replicas differ (running statistics) is stored as name, name@1, name@2, ...
#pragma once

#include <functional>
#include <map>
#include <string>

#include "runtime/session.h"

namespace lockstep {

using Metadata = std::map<std::string, std::string>;

// Of a run of several processes rank 0 reads and writes the file; all call alike.

// Written whole or not at all: on any failure, a full disk too, the old file stays as it was.
void save_checkpoint(Session& session, const std::string& path, const Metadata& metadata);

// Throws naming what is missing or has another shape; the session is unchanged then. `look` sees
// the metadata before any tensor is compared and may throw: it knows what they were saved with.
using LookAtMetadata = std::function<void(const Metadata&)>;
Metadata load_checkpoint(Session& session, const std::string& path,
                         const LookAtMetadata& look = {});

}  // namespace lockstep
