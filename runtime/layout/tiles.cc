// SPDX-License-Identifier: Apache-2.0
#include "runtime/layout/tiles.h"

#include <cstring>

#include "runtime/layout/places_in_tiles.h"

namespace lockstep {
namespace {

template <class Move>
void each_bytes(const TensorDesc& desc, const Move& move) {
  check(is_in_tiles(desc.channel_block) && !only_copies_lie_in(desc.channel_block) &&
            desc.dims.size() == 4,
        "internal: a state lies as ", text_of(desc));
  const std::size_t size = size_of(desc.dtype);
  PlacesInTiles(desc).each(0, desc.count(), [&](int64_t plain, int64_t laid) {
    move(static_cast<std::size_t>(plain) * size, static_cast<std::size_t>(laid) * size, size);
  });
}

}  // namespace

void copy_to_row_major(void* to, const Tensor& from) {
  each_bytes(from.desc, [&](std::size_t plain, std::size_t laid, std::size_t size) {
    std::memcpy(static_cast<std::byte*>(to) + plain, from.as<std::byte>() + laid, size);
  });
}

void copy_from_row_major(const Tensor& to, const void* from) {
  each_bytes(to.desc, [&](std::size_t plain, std::size_t laid, std::size_t size) {
    std::memcpy(to.as<std::byte>() + laid, static_cast<const std::byte*>(from) + plain, size);
  });
}

}  // namespace lockstep
