// SPDX-License-Identifier: Apache-2.0
// Thresholds that select AMX convolutions and divide their work, in elements unless stated
// otherwise.
#pragma once

#include <cstdint>

namespace lockstep::amx {

struct AmxTuning {
  // Strips and filters share an L2 cache if it can hold the filters. Otherwise filters are read
  // again for each strip, so there should be few strips.
  int64_t few_filters = 3 << 17;
  int64_t packed_beside = 1 << 17, packed_alone = 1 << 19;
  // Size of the packed images and gradients, which all threads read.
  int64_t laid_out = 3 << 18;
  int64_t fewest_pixels = 512, most_pixels = 4096;  // limits on the pixels of packed images and
                                                    // gradients
  // At least one row of windows is packed.
  int64_t longest_row = 1 << 22;
};
constexpr AmxTuning kTuning;

}  // namespace lockstep::amx
