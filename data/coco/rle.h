// SPDX-License-Identifier: Apache-2.0
// COCO's run lengths: a mask's pixels column by column, as lengths of runs. The first run is empty
// pixels. A file stores a list of numbers, or a string with six bits per character.
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

// The number of pixels in the mask.
int64_t area_of(const RunLengths& runs);

}  // namespace lockstep
