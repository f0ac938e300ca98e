// SPDX-License-Identifier: Apache-2.0
// Owned, aligned memory.
#pragma once

#include <cstddef>
#include <memory>

namespace lockstep {

struct FreeMemory {
  void (*release)(void*) = nullptr;  // null: host memory
  std::size_t mapped_bytes = 0;      // size of a mapping; 0: from the heap
  void operator()(std::byte* data) const;
};
using Memory = std::unique_ptr<std::byte[], FreeMemory>;

// The bytes that allocate() takes from the system for `bytes`.
std::size_t allocated_bytes(std::size_t bytes);

// Allocates 64-byte aligned memory, every byte set to `fill`. Never null, even for 0 bytes.
Memory allocate(std::size_t bytes, std::byte fill = std::byte{0});

}  // namespace lockstep
