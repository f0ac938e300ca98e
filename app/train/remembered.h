// SPDX-License-Identifier: Apache-2.0
// The configuration in a checkpoint: the keys that decide the meaning of its numbers
// (KeyFacts::remembered). Other keys may change between sessions.
#pragma once

#include <string>
#include <vector>

#include "app/train/learning.h"
#include "app/train/settings.h"
#include "runtime/state/checkpoint.h"

namespace lockstep {

Metadata remembered(const ConfigKeys& keys, const TrainSettings& settings);

// Puts this version's value in place of one that an earlier version wrote of the same data. Returns
// a line for people about each such entry.
std::vector<std::string> renew(Metadata& saved, const Metadata& now,
                               const std::vector<FormerEntry>& former, const std::string& path);

// A line for people about facts of the data that an earlier version did not store; "": all are
// there.
std::string text_of_unknown(const Metadata& saved,
                            const std::vector<std::pair<std::string, std::string>>& now,
                            const std::string& path);

// The keys that may change between sessions, and bits with them
// (KeyFacts::decides_bits).
Metadata deciding_bits(const ConfigKeys& keys);
// Keys that `saved` has with a value of other bits: "WIRE bfloat16 instead of '', .."; "": none.
std::string changed_since(const Metadata& saved, const Metadata& now);

// Throws naming the key and both values. Keys missing from `saved` may have any value: the
// checkpoint is older than them. `now`: remembered() of this run.
void check_remembered(const Metadata& now, const Metadata& saved, const std::string& path,
                      int64_t replicas);

}  // namespace lockstep
