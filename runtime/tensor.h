// SPDX-License-Identifier: Apache-2.0
// A non-owning view of a tensor in memory.
#pragma once

#include <cstddef>

#include "graph/error.h"
#include "graph/literal.h"
#include "graph/shape.h"
#include "runtime/layout/layout.h"

namespace lockstep {

struct TensorDesc {
  DType dtype = DType::undefined;  // undefined: an omitted optional operand
  Dims dims;
  Layout layout = {};

  int64_t count() const { return element_count(dims); }
  // Channels that lie side by side; 1 where each channel has a plane of its own.
  int64_t block() const { return layout.is_channels_last() ? dims[1] : layout.block(); }
  bool padded() const { return layout.is_blocks() && dims[1] % layout.block() != 0; }
  // With padding counted as channels.
  Dims stored() const {
    Dims whole = dims;
    if (padded()) whole[1] += layout.block() - dims[1] % layout.block();
    return whole;
  }
  // Elements and padding. Allocates nothing.
  int64_t places() const {
    if (!padded()) return count();
    return count() / dims[1] * (dims[1] + layout.block() - dims[1] % layout.block());
  }
  std::size_t bytes() const { return places() * size_of(dtype); }
  bool present() const { return dtype != DType::undefined; }
  friend bool operator==(const TensorDesc&, const TensorDesc&) = default;
};

// Layout::text(), but "/c64" where 64 channels lie last.
inline std::string text_of_layout(const TensorDesc& desc) {
  return desc.layout.is_channels_last() ? join("/c", desc.dims[1]) : desc.layout.text();
}

inline std::string text_of(const TensorDesc& desc) {
  return std::string(name_of(desc.dtype)) + text_of(desc.dims) + text_of_layout(desc);
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
