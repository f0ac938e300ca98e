// The configuration in a checkpoint: the keys that decide the meaning of its numbers
// (KeyFacts::remembered). Other keys may change between sessions.
#pragma once

#include <string>

#include "runtime/state/checkpoint.h"
#include "tools/train/settings.h"

namespace lockstep {

Metadata remembered(const ConfigKeys& keys, const TrainSettings& settings);

// Throws naming the key and both values. Keys missing from `saved` may have any value: the
// checkpoint is older than them. `now`: remembered() of this run.
void check_remembered(const Metadata& now, const Metadata& saved, const std::string& path,
                      int64_t replicas);

}  // namespace lockstep
