// SPDX-License-Identifier: Apache-2.0
// Thresholds that select Winograd's method, and numbers that divide its work without changing
// results.
#pragma once

#include <cstdint>

namespace lockstep::winograd {

struct WinogradTuning {
  // The time to transform one cached value of a tile, in multiplications. Measured with AVX2 on an
  // AMD EPYC.
  double tile_value = 38;
  // The time to transform one value of a filter, which is read from memory. One number suffices for
  // vectors of 8 and of 16: with both, 512 channels of 7x7 gain from 8 images on.
  double filter_value = 50;
  // The method is not used for a small gain, since tiles need memory, too.
  double most_of_direct = 0.9;

  // Sizes in bytes.
  int64_t filters_at_once = 5 << 20;      // larger filters may be transformed in slices
  int64_t filters_of_slice = 160 << 10;   // in a core's L2 cache, together with tiles
  int64_t shared_tiles = 5 << 20;         // in the cache shared by cores, for up to two threads
  int64_t products_of_slice = 320 << 10;  // in a core's L2 cache
  int64_t tiles_of_thread = 2 << 20;
  int64_t gradients_to_keep = 1 << 20;  // larger gradients of filters are written past the caches

  int64_t rows = 12;  // tiles that are multiplied together; half of these with AVX2
};
constexpr WinogradTuning kTuning;

}  // namespace lockstep::winograd
