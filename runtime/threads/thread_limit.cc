// SPDX-License-Identifier: Apache-2.0
#include "runtime/threads/thread_limit.h"

#include <algorithm>
#include <utility>

// libgomp's, whose header belongs to a compiler's OpenMP support.
extern "C" {
void omp_set_num_threads(int threads);
int omp_get_max_threads();
}

namespace lockstep {
namespace {

thread_local int limit_here = 0;
thread_local bool fine_here = false;

}  // namespace

ThreadLimit::ThreadLimit(int threads)
    : before_(std::exchange(limit_here, 0)), before_in_libgomp_(omp_get_max_threads()) {
  limit_here = std::max(1, threads);
  omp_set_num_threads(limit_here);
}
ThreadLimit::~ThreadLimit() {
  omp_set_num_threads(before_in_libgomp_);
  limit_here = before_;
}

int threads_of_this_thread() { return limit_here ? limit_here : omp_get_max_threads(); }

FineShares::FineShares() : before_(std::exchange(fine_here, true)) {}
FineShares::~FineShares() { fine_here = before_; }

int thread_limit_here() { return limit_here; }
bool fine_shares_here() { return fine_here; }

}  // namespace lockstep
