// SPDX-License-Identifier: Apache-2.0
#include "runtime/layout/tiles.h"

#include <cstring>

#include "runtime/layout/places_in_tiles.h"

namespace lockstep {
namespace {

// Calls move(row-major offset, tiled offset), in bytes, for each element.
template <class Move>
void each_element(const TiledFilter& filter, const Move& move) {
  check(filter.dims.size() == 4, "internal: tiles ", filter.tiles,
        " are for filters of 4 dimensions, not of ", filter.dims.size());
  const auto bytes = [&](int64_t element) { return element * filter.size; };
  PlacesInTiles(filter.dims, filter.tiles)
      .each(0, element_count(filter.dims),
            [&](int64_t plain, int64_t laid) { move(bytes(plain), bytes(laid)); });
}

}  // namespace

void TiledFilter::to_row_major(void* to, const void* from) const {
  each_element(*this, [&](std::size_t plain, std::size_t laid) {
    std::memcpy(static_cast<std::byte*>(to) + plain, static_cast<const std::byte*>(from) + laid,
                size);
  });
}

void TiledFilter::from_row_major(void* to, const void* from) const {
  each_element(*this, [&](std::size_t plain, std::size_t laid) {
    std::memcpy(static_cast<std::byte*>(to) + laid, static_cast<const std::byte*>(from) + plain,
                size);
  });
}

}  // namespace lockstep
