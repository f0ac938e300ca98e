// Owned, aligned memory.
#pragma once

#include <cstddef>
#include <memory>

namespace lockstep {

struct FreeMemory {
  void (*release)(void*) = nullptr;  // null: host memory
  void operator()(std::byte* data) const;
};
using Memory = std::unique_ptr<std::byte[], FreeMemory>;

// 64-byte aligned and zeroed; never null, even for 0 bytes.
Memory allocate(std::size_t bytes);

}  // namespace lockstep
