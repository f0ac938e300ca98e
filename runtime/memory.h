// SPDX-License-Identifier: Apache-2.0
// Owned, aligned memory.
#pragma once

#include <cstddef>
#include <memory>

namespace lockstep {

struct FreeMemory {
  void (*release)(void*) = nullptr;  // null: host memory
  std::size_t mapped_bytes = 0;      // of pages of its own; 0: from the heap
  void operator()(std::byte* data) const;
};
using Memory = std::unique_ptr<std::byte[], FreeMemory>;

// 64-byte aligned, every byte of it `fill`; never null, even for 0 bytes.
Memory allocate(std::size_t bytes, std::byte fill = std::byte{0});

}  // namespace lockstep
