// SPDX-License-Identifier: Apache-2.0
// Memory that ends at a page boundary. Access to the next page faults.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <stdexcept>

namespace lockstep::testing {

class GuardedMemory {
 public:
  // The memory begins at a multiple of `alignment`, a power of 2.
  explicit GuardedMemory(std::size_t bytes, std::size_t alignment = 2) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t room = (bytes + page - 1) / page * page;
    mapped_ = room + page;
    void* const pages =
        mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) throw std::runtime_error("cannot map memory");
    pages_ = static_cast<std::byte*>(pages);
    if (mprotect(pages_ + room, page, PROT_NONE) != 0)
      throw std::runtime_error("cannot guard memory");
    begin_ = pages_ + room - (bytes + alignment - 1) / alignment * alignment;
  }
  ~GuardedMemory() { munmap(pages_, mapped_); }
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;

  std::byte* begin() const { return begin_; }

 private:
  std::size_t mapped_;
  std::byte *pages_, *begin_;
};

}  // namespace lockstep::testing
