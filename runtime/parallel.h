// A replica's threads. oneDNN brings OpenMP's thread pool (libgomp); our own loops run on the same
// threads through libgomp's entry point, so that a replica has one pool whatever compiler built us.
#pragma once

#include <cstdint>

namespace lockstep {

// Sets how many threads oneDNN and parallel_for use when called from this thread.
void set_threads_of_this_thread(int threads);

namespace detail {
using RangeBody = void (*)(void* context, int64_t begin, int64_t end);
void run_ranges(int64_t count, int64_t grain, int threads, RangeBody body, void* context);
}  // namespace detail

// Calls body(begin, end) over pieces of [0, count), each at least `grain` long, on at most
// `threads` threads. Every index is visited once; which thread takes it never matters to a result.
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

}  // namespace lockstep
