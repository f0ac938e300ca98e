// What a checkpoint remembers of the configuration: the keys that decide what its numbers mean
// (KeyFacts::remembered). The others may change between sessions.
#pragma once

#include <string>

#include "runtime/state/checkpoint.h"
#include "tools/train/config.h"

namespace lockstep {

Metadata remembered(const TrainConfig& config);

// Throws naming the key and both values. A key that `saved` lacks was not remembered yet when the
// checkpoint was written, and may be anything.
void check_remembered(const TrainConfig& config, const Metadata& saved, const std::string& path,
                      int64_t replicas);

}  // namespace lockstep
