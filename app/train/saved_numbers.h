// SPDX-License-Identifier: Apache-2.0
// Numbers in the metadata of checkpoints and weights. Errors name the file and the key.
#pragma once

#include <cstdint>
#include <string>

#include "lockstep/checkpoint.h"

namespace lockstep {

// Throws if the number is missing or out of range.
int64_t whole_number(const Metadata& metadata, const std::string& key, int64_t least, int64_t most,
                     const std::string& path);
// A number from 0 to 1.
double share_number(const Metadata& metadata, const std::string& key, const std::string& path);

inline constexpr int64_t kMostSteps = int64_t{1} << 53;

}  // namespace lockstep
