// SPDX-License-Identifier: Apache-2.0
// Moves filters between tiles and row-major order, in which others read and write filters.
#pragma once

#include <cstddef>

#include "graph/literal.h"
#include "runtime/layout/filter_tiles.h"

namespace lockstep {

// A filter whose elements have `size` bytes.
struct TiledFilter {
  const Dims& dims;
  FilterTiles tiles;
  std::size_t size;

  void to_row_major(void* to, const void* from) const;
  void from_row_major(void* to, const void* from) const;
};

}  // namespace lockstep
