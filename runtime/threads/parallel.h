// SPDX-License-Identifier: Apache-2.0
// A replica's threads, on which our own loops and oneDNN's run (team.h, openmp.cc).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace lockstep {

// While it lives, the number of threads for kernels that this thread runs: oneDNN's take it from
// here, and parallel_for's callers hand it over. Kernels use no OpenMP of their own.
class ThreadLimit {
 public:
  explicit ThreadLimit(int threads);
  ~ThreadLimit();
  ThreadLimit(const ThreadLimit&) = delete;

 private:
  int before_, before_in_libgomp_;
};

int threads_of_this_thread();

// While it lives, oneDNN cuts what this thread makes and runs into several shares for each thread,
// which threads take as they come. For primitives whose shares do not wait for each other.
class FineShares {
 public:
  FineShares();
  ~FineShares();
  FineShares(const FineShares&) = delete;

 private:
  bool before_;
};

namespace detail {
using RangeBody = void (*)(void* context, int slot, int64_t begin, int64_t end);
void run_ranges(int64_t count, int64_t grain, int threads, RangeBody body, void* context);
}  // namespace detail

// Calls body(slot, begin, end) over pieces of [0, count), each at least `grain` long, on at most
// `threads` threads, which take pieces as they come. Calls with the same slot, one of [0, threads),
// follow each other: each slot may have memory of its own to work in. Every index is visited once;
// results must not depend on which slot does it. Allocates nothing.
template <class Body>
void parallel_for_slots(int64_t count, int64_t grain, int threads, const Body& body) {
  if (threads <= 1 || count <= grain) {
    if (count > 0) body(0, int64_t{0}, count);
    return;
  }
  detail::run_ranges(
      count, grain, threads,
      [](void* context, int slot, int64_t begin, int64_t end) {
        (*static_cast<const Body*>(context))(slot, begin, end);
      },
      const_cast<void*>(static_cast<const void*>(&body)));
}

// The same for a body(begin, end) that needs no such memory.
template <class Body>
void parallel_for(int64_t count, int64_t grain, int threads, const Body& body) {
  parallel_for_slots(count, grain, threads,
                     [&](int, int64_t begin, int64_t end) { body(begin, end); });
}

// One thread reads and writes at a fraction of what a machine's memory can.
inline void parallel_copy(void* to, const void* from, std::size_t bytes, int threads) {
  constexpr int64_t kGrain = 1 << 20;
  parallel_for(static_cast<int64_t>(bytes), kGrain, threads, [=](int64_t begin, int64_t end) {
    std::memcpy(static_cast<std::byte*>(to) + begin, static_cast<const std::byte*>(from) + begin,
                end - begin);
  });
}

}  // namespace lockstep
