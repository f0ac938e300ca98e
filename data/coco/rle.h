// SPDX-License-Identifier: Apache-2.0
// COCO's run lengths: a mask's pixels column by column, as lengths of runs, the first of them
// empty. In files they are a list, or a string of six bits a character.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "data/coco/annotations.h"

namespace lockstep {

std::vector<uint32_t> decode_run_lengths(std::string_view text);
std::string encode_run_lengths(const std::vector<uint32_t>& counts);

// Throws unless the runs add up to the mask's height x width.
void check_run_lengths(const RunLengths& runs);

// The number of the mask's pixels.
int64_t area_of(const RunLengths& runs);

}  // namespace lockstep
