// SPDX-License-Identifier: Apache-2.0
// Copies filters between tiles and row-major order, which other code reads and writes.
#pragma once

#include <cstddef>

#include "lockstep/attributes.h"
#include "lockstep/tensor.h"

namespace lockstep {

// A filter with elements of `size` bytes.
struct TiledFilter {
  const Dims& dims;
  FilterTiles tiles;
  std::size_t size;

  void to_row_major(void* to, const void* from) const;
  void from_row_major(void* to, const void* from) const;
};

}  // namespace lockstep
