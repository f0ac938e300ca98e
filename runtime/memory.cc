#include "runtime/memory.h"

#include <cstdlib>
#include <cstring>

#include "graph/error.h"

namespace lockstep {

void FreeMemory::operator()(std::byte* data) const { release ? release(data) : std::free(data); }

Memory allocate(std::size_t bytes) {
  std::size_t size = (bytes / 64 + 1) * 64;
  auto* data = static_cast<std::byte*>(std::aligned_alloc(64, size));
  check(data != nullptr, "out of memory: cannot allocate ", bytes, " bytes");
  std::memset(data, 0, size);
  return Memory(data);
}

}  // namespace lockstep
