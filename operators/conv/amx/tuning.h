// SPDX-License-Identifier: Apache-2.0
// The numbers that choose convolutions by matrix tiles and divide their work. Elements, unless said
// otherwise.
#pragma once

#include <cstdint>

namespace lockstep::amx {

struct AmxTuning {
  // Strips and filters share an L2 cache, if it can hold the filters; else these are read again for
  // each strip, of which there should be few.
  int64_t few_filters = 3 << 17;
  int64_t packed_beside = 1 << 17, packed_alone = 1 << 19;
  // Of images and gradients, which all threads read.
  int64_t laid_out = 3 << 18;
  int64_t fewest_pixels = 512, most_pixels = 4096;  // of these
  // At least one row of windows is packed.
  int64_t longest_row = 1 << 22;
};
constexpr AmxTuning kTuning;

}  // namespace lockstep::amx
