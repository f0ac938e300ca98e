// SPDX-License-Identifier: Apache-2.0
// Limits of oneDNN's threads on the calling thread. oneDNN asks an OpenMP library for the number of
// threads. In the program `lockstep`, tools/openmp.cc answers instead and runs oneDNN's regions on
// a Team.
#pragma once

#include <limits>

namespace lockstep {

// During its lifetime, the number of threads for kernels that this thread runs: oneDNN reads it
// from the OpenMP library, and callers of parallel_for pass it on. Kernels have no OpenMP regions.
class ThreadLimit {
 public:
  explicit ThreadLimit(int threads);
  ~ThreadLimit();
  ThreadLimit(const ThreadLimit&) = delete;

 private:
  struct InOpenMp {
    int threads = 0, dynamic = 0, levels = 0;
  };
  int before_;
  InOpenMp in_openmp_;  // the calling thread's settings before
};

int threads_of_this_thread();

// True if tools/openmp.cc is linked: oneDNN's regions run on the calling thread's Team. Otherwise
// the OpenMP library runs the regions on threads that the calling thread starts there, which
// inherit its core.
bool regions_run_on_teams();
// The most threads that the OpenMP library gives to a region (OMP_THREAD_LIMIT).
inline constexpr int kAnyThreads = std::numeric_limits<int>::max();
int most_openmp_threads();
// True if the calling thread is inside an OpenMP region of the program, where oneDNN gets one
// thread.
bool in_parallel_region();

// During its lifetime, oneDNN divides the primitives that this thread makes and runs into several
// shares for each thread; threads take shares as they become free. Only for primitives whose shares
// do not wait for each other, and only in programs that link tools/openmp.cc: elsewhere a thread
// gets one share. The number of shares changes no bit of these primitives' results.
class FineShares {
 public:
  FineShares();
  ~FineShares();
  FineShares(const FineShares&) = delete;

 private:
  bool before_;
};

// The state of the calling thread, for tools/openmp.cc. A limit of 0: no ThreadLimit.
int thread_limit_here();
bool fine_shares_here();

}  // namespace lockstep
