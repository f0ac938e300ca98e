// SPDX-License-Identifier: Apache-2.0
// A non-owning view of a tensor in memory.
#pragma once

#include <cstddef>

#include "graph/error.h"
#include "graph/literal.h"
#include "graph/shape.h"
#include "runtime/layout/filter_tiles.h"

namespace lockstep {

struct TensorDesc {
  DType dtype = DType::undefined;  // undefined: an omitted optional operand
  Dims dims;
  // 1: row-major. b: blocks of channels, [N, blocks, spatial.., b]. Where b does not divide the
  // channels the last block is padded: the places of its missing channels hold 0. Negative: filters
  // in tiles that have no padding (runtime/layout/filter_tiles.h).
  int channel_block = 1;

  int64_t count() const { return element_count(dims); }
  bool padded() const { return channel_block > 1 && dims[1] % channel_block != 0; }
  // With padding counted as channels.
  Dims stored() const {
    Dims whole = dims;
    if (padded()) whole[1] += channel_block - dims[1] % channel_block;
    return whole;
  }
  // Elements and padding. Allocates nothing.
  int64_t places() const {
    if (!padded()) return count();
    return count() / dims[1] * (dims[1] + channel_block - dims[1] % channel_block);
  }
  std::size_t bytes() const { return static_cast<std::size_t>(places()) * size_of(dtype); }
  bool present() const { return dtype != DType::undefined; }
  friend bool operator==(const TensorDesc&, const TensorDesc&) = default;
};

// "/c16", "/t16", "/t16 turned", "/t8 each turned"; "" for row-major.
inline std::string text_of_layout(int channel_block) {
  if (channel_block == 1) return "";
  return channel_block > 1 ? join("/c", channel_block)
                           : join("/", text_of(tiles_of(channel_block)));
}

inline std::string text_of(const TensorDesc& desc) {
  return std::string(name_of(desc.dtype)) + text_of(desc.dims) + text_of_layout(desc.channel_block);
}

struct Tensor {
  TensorDesc desc;
  void* data = nullptr;

  template <class T>
  T* as() const {
    return static_cast<T*>(data);
  }
  int64_t count() const { return desc.count(); }
};

// A read-only tensor over the bytes of a literal.
inline Tensor view_of(const Literal& literal) {
  return {{literal.dtype(), literal.dims()}, const_cast<std::byte*>(literal.bytes().data())};
}

}  // namespace lockstep
