// SPDX-License-Identifier: Apache-2.0
// Limits of oneDNN's threads on the calling thread. oneDNN asks libgomp for the number of threads.
// In the program `lockstep`, tools/openmp.cc answers instead and runs oneDNN's regions on a Team.
#pragma once

namespace lockstep {

// During its lifetime, the number of threads for kernels that this thread runs: oneDNN reads it
// from libgomp, and callers of parallel_for pass it on. Kernels have no OpenMP regions.
class ThreadLimit {
 public:
  explicit ThreadLimit(int threads);
  ~ThreadLimit();
  ThreadLimit(const ThreadLimit&) = delete;

 private:
  int before_, before_in_libgomp_;
};

int threads_of_this_thread();

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
