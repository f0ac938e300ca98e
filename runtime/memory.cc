// SPDX-License-Identifier: Apache-2.0
#include "runtime/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "lockstep/error.h"
#include "runtime/threads/cores.h"

namespace lockstep {
namespace {

constexpr std::size_t kCacheLine = 64;
constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::size_t kWorthAThread = 16 * kHugePage;

std::size_t rounded_up(std::size_t bytes, std::size_t unit) { return (bytes / unit + 1) * unit; }

// Larger memory is mapped, smaller memory is from the heap.
bool is_mapped(std::size_t bytes) { return bytes >= 2 * kHugePage; }

// Maps private pages, zero until first use. Prefers huge pages, so that a step seldom misses the
// TLB.
std::byte* map_pages(std::size_t bytes) {
  void* mapped =
      mmap(nullptr, bytes + kHugePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  auto* begin = static_cast<std::byte*>(mapped);
  const std::size_t before = -reinterpret_cast<std::uintptr_t>(begin) % kHugePage;
  if (before > 0) munmap(begin, before);
  munmap(begin + before + bytes, kHugePage - before);
  madvise(begin + before, bytes, MADV_HUGEPAGE);
  return begin + before;
}

// Fills memory on all cores. The system clears a page on its first write, which takes longer than
// the write.
void fill_with_all_cores(std::byte* data, std::size_t bytes, std::byte fill) {
  const std::size_t threads = std::clamp<std::size_t>(bytes / kWorthAThread, 1, cpu_cores());
  const std::size_t share = rounded_up(bytes / threads, kHugePage);
  std::vector<std::jthread> others;
  for (std::size_t begin = 0; begin < bytes; begin += share) {
    const auto fill_share = [=] {
      std::memset(data + begin, static_cast<int>(fill), std::min(share, bytes - begin));
    };
    if (begin + share < bytes) {
      others.emplace_back(fill_share);
    } else {
      fill_share();
    }
  }
}

}  // namespace

void FreeMemory::operator()(std::byte* data) const {
  if (release != nullptr) {
    release(data);
  } else if (mapped_bytes > 0) {
    munmap(data, mapped_bytes);
  } else {
    std::free(data);
  }
}

std::size_t allocated_bytes(std::size_t bytes) {
  return rounded_up(bytes, is_mapped(bytes) ? kHugePage : kCacheLine);
}

Memory allocate(std::size_t bytes, std::byte fill) {
  const bool mapped = is_mapped(bytes);
  const std::size_t size = allocated_bytes(bytes);
  auto* data =
      mapped ? map_pages(size) : static_cast<std::byte*>(std::aligned_alloc(kCacheLine, size));
  check(data != nullptr, "out of memory: cannot allocate ", bytes, " bytes");
  Memory memory(data, {nullptr, mapped ? size : 0});
  if (!mapped || fill != std::byte{0}) fill_with_all_cores(data, size, fill);
  return memory;
}

}  // namespace lockstep
