// A replica's threads. oneDNN brings OpenMP's thread pool (libgomp); our own loops use the same
// threads through libgomp's entry point, so a replica has one pool whatever the compiler.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace lockstep {

// Sets the number of threads for oneDNN and parallel_for calls from this thread.
void set_threads_of_this_thread(int threads);
int threads_of_this_thread();

int cores_of_openmp();  // that it may use

namespace detail {
using RangeBody = void (*)(void* context, int64_t begin, int64_t end);
void run_ranges(int64_t count, int64_t grain, int threads, RangeBody body, void* context);
}  // namespace detail

// Calls body(begin, end) over chunks of [0, count), each at least `grain` long, on at most
// `threads` threads. Every index is visited once; results never depend on which thread does it.
// Allocates nothing.
template <class Body>
void parallel_for(int64_t count, int64_t grain, int threads, const Body& body) {
  if (threads <= 1 || count <= grain) {
    if (count > 0) body(int64_t{0}, count);
    return;
  }
  detail::run_ranges(
      count, grain, threads,
      [](void* context, int64_t begin, int64_t end) {
        (*static_cast<const Body*>(context))(begin, end);
      },
      const_cast<void*>(static_cast<const void*>(&body)));
}

// One thread reads and writes at a fraction of what a machine's memory can.
inline void parallel_copy(void* to, const void* from, std::size_t bytes, int threads) {
  constexpr int64_t kGrain = 1 << 20;
  parallel_for(static_cast<int64_t>(bytes), kGrain, threads, [=](int64_t begin, int64_t end) {
    std::memcpy(static_cast<std::byte*>(to) + begin, static_cast<const std::byte*>(from) + begin,
                static_cast<std::size_t>(end - begin));
  });
}

}  // namespace lockstep
