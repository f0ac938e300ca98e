// SPDX-License-Identifier: Apache-2.0
// Conversion of an element's offset between layouts.
#pragma once

#include "lockstep/kernel.h"

namespace lockstep {

// Index is 32 bits wide where possible: 64-bit divisions are slow, and few tensors need them.
template <class Index>
struct Blocks {
  Index channels, plane, from_block, to_block;

  Blocks(const TensorDesc& from, const TensorDesc& to)
      : channels(static_cast<Index>(from.dims[1])),
        plane(static_cast<Index>(from.count() == 0 ? 0
                                                   : from.count() / (from.dims[0] * from.dims[1]))),
        from_block(static_cast<Index>(from.block())),
        to_block(static_cast<Index>(to.block())) {}

  // The offset in the source of element i of the result. i is decoded by the result's blocks.
  __device__ Index from(Index i) const {
    const Index within = i % to_block;
    i /= to_block;
    const Index place = i % plane;
    i /= plane;
    const Index blocks = channels / to_block;
    const Index channel = i % blocks * to_block + within;
    const Index image = i / blocks;
    return ((image * (channels / from_block) + channel / from_block) * plane + place) * from_block +
           channel % from_block;
  }
};

// Calls make.operator()<Index>() with an Index wide enough for all elements.
template <class Make>
auto indexed(const TensorDesc& tensor, const Make& make) {
  return tensor.count() <= UINT32_MAX ? make.template operator()<uint32_t>()
                                      : make.template operator()<uint64_t>();
}

inline std::string text_of_blocks(const TensorDesc& from, const TensorDesc& to) {
  return join(from.block(), " -> ", to.block());
}

}  // namespace lockstep
