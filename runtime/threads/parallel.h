// SPDX-License-Identifier: Apache-2.0
// Parallel loops on a replica's threads (team.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace lockstep {

namespace detail {
using RangeBody = void (*)(void* context, int slot, int64_t begin, int64_t end);
void run_ranges(int64_t count, int64_t grain, int threads, RangeBody body, void* context);
}  // namespace detail

// Calls body(slot, begin, end) over pieces of [0, count), each at least `grain` long, on at most
// `threads` threads, which claim pieces dynamically. Calls with the same slot in [0, threads) never
// overlap, so each slot may have private working memory. Every index is visited once; results must
// not depend on the slot. Allocates nothing.
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

// Calls body(begin, end), which needs no working memory, like parallel_for_slots().
template <class Body>
void parallel_for(int64_t count, int64_t grain, int threads, const Body& body) {
  parallel_for_slots(count, grain, threads,
                     [&](int, int64_t begin, int64_t end) { body(begin, end); });
}

// Copies on several threads: one thread uses only a fraction of the memory bandwidth.
inline void parallel_copy(void* to, const void* from, std::size_t bytes, int threads) {
  constexpr int64_t kGrain = 1 << 20;
  parallel_for(static_cast<int64_t>(bytes), kGrain, threads, [=](int64_t begin, int64_t end) {
    std::memcpy(static_cast<std::byte*>(to) + begin, static_cast<const std::byte*>(from) + begin,
                end - begin);
  });
}

}  // namespace lockstep
