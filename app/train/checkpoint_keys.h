// SPDX-License-Identifier: Apache-2.0
// The configuration in a checkpoint: the keys that decide the meaning of its numbers
// (KeyFacts::remembered). Other keys may change between sessions.
#pragma once

#include <string>
#include <vector>

#include "app/train/learning.h"
#include "app/train/settings.h"
#include "lockstep/checkpoint.h"

namespace lockstep {

Metadata remembered(const ConfigKeys& keys, const TrainSettings& settings);

// Replaces values that an earlier version wrote for unchanged data by this version's values.
// Returns a line for people about each such entry.
std::vector<std::string> renew(Metadata& saved, const Metadata& now,
                               const std::vector<FormerEntry>& former, const std::string& path);

// A line for people about facts of the data that an earlier version did not store; "" if all are
// stored.
std::string text_of_unknown(const Metadata& saved,
                            const std::vector<std::pair<std::string, std::string>>& now,
                            const std::string& path);

// The keys that may change between sessions and then change bits (KeyFacts::decides_bits).
Metadata deciding_bits(const ConfigKeys& keys);
// Keys of `saved` with a value that gives other bits: "WIRE bfloat16 instead of '', .."; "" if
// none.
std::string changed_since(const Metadata& saved, const Metadata& now);

// Throws naming the key and both values. A key that is missing in `saved` may have any value: the
// checkpoint is older than the key. `now` is remembered() of this run. `way_out` is the user's
// other choice besides restoring the value.
void check_remembered(const Metadata& now, const Metadata& saved, const std::string& path,
                      int64_t replicas, const std::string& way_out = "train without --resume");

// Throws naming TRAIN.EMA if this run keeps moving averages of parameters with `decay`, and the run
// that saved the checkpoint kept none.
void check_averages(const Metadata& saved, float decay, const std::string& path,
                    const std::string& way_out = "train without --resume");

}  // namespace lockstep
