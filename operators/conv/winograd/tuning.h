// SPDX-License-Identifier: Apache-2.0
// The numbers that choose Winograd's method, and numbers that divide its work, which change no
// result.
#pragma once

#include <cstdint>

namespace lockstep::winograd {

struct WinogradTuning {
  // The time of transforming one value of a tile, which is in the cache, in multiplications.
  // Measured with AVX2 on an AMD EPYC.
  double tile_value = 38;
  // The time of transforming one value of a filter, which comes from memory. One number does for
  // vectors of 8 and of 16: with both, 512 channels of 7x7 gain from 8 images on.
  double filter_value = 50;
  // Not for a small gain: tiles need memory, too.
  double most_of_direct = 0.9;

  // Bytes.
  int64_t filters_at_once = 5 << 20;      // larger ones may be made in slices
  int64_t filters_of_slice = 160 << 10;   // in a core's own cache, beside tiles
  int64_t shared_tiles = 5 << 20;         // in the cache that cores share, for up to two threads
  int64_t products_of_slice = 320 << 10;  // in a core's own cache
  int64_t tiles_of_thread = 2 << 20;
  int64_t gradients_to_keep = 1 << 20;  // more gradients of filters are written past the caches

  int64_t rows = 12;  // tiles that are multiplied together; with AVX2 half of these
};
constexpr WinogradTuning kTuning;

}  // namespace lockstep::winograd
