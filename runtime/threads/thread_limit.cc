// SPDX-License-Identifier: Apache-2.0
#include "runtime/threads/thread_limit.h"

#include <dlfcn.h>

#include <algorithm>
#include <utility>

namespace lockstep {
namespace {

thread_local int limit_here = 0;
thread_local bool fine_here = false;

// The entry points of the OpenMP library that oneDNN uses, libgomp or a compatible one. They are
// looked up instead of linked, so that a program's own choice of a library stands.
struct OpenMp {
  template <class Function>
  static Function* find(const char* name) {
    void* const of_program = dlsym(RTLD_DEFAULT, name);
    // In a library that is loaded with RTLD_LOCAL only the library's own dependencies have it.
    return reinterpret_cast<Function*>(of_program ? of_program : dlsym(RTLD_NEXT, name));
  }

  void (*set_num_threads)(int) = find<void(int)>("omp_set_num_threads");
  int (*get_max_threads)() = find<int()>("omp_get_max_threads");
  void (*set_dynamic)(int) = find<void(int)>("omp_set_dynamic");
  int (*get_dynamic)() = find<int()>("omp_get_dynamic");
  void (*set_max_active_levels)(int) = find<void(int)>("omp_set_max_active_levels");
  int (*get_max_active_levels)() = find<int()>("omp_get_max_active_levels");
  int (*get_thread_limit)() = find<int()>("omp_get_thread_limit");
  int (*in_parallel)() = find<int()>("omp_in_parallel");

  bool present() const {
    return set_num_threads && get_max_threads && set_dynamic && get_dynamic &&
           set_max_active_levels && get_max_active_levels && get_thread_limit && in_parallel;
  }
};

const OpenMp* open_mp() {
  static const OpenMp found;
  return found.present() ? &found : nullptr;
}

}  // namespace

ThreadLimit::ThreadLimit(int threads) : before_(std::exchange(limit_here, 0)) {
  if (const OpenMp* omp = open_mp()) {
    in_openmp_ = {omp->get_max_threads(), omp->get_dynamic(), omp->get_max_active_levels()};
    // oneDNN divides work for exactly `threads` threads, and needs all of them.
    omp->set_num_threads(std::max(1, threads));
    omp->set_dynamic(0);
    if (in_openmp_.levels < 1) omp->set_max_active_levels(1);
  }
  limit_here = std::max(1, threads);
}
ThreadLimit::~ThreadLimit() {
  if (const OpenMp* omp = open_mp()) {
    omp->set_num_threads(in_openmp_.threads);
    omp->set_dynamic(in_openmp_.dynamic);
    if (in_openmp_.levels < 1) omp->set_max_active_levels(in_openmp_.levels);
  }
  limit_here = before_;
}

int threads_of_this_thread() {
  if (limit_here) return limit_here;
  const OpenMp* omp = open_mp();
  return omp ? omp->get_max_threads() : 1;
}

int most_openmp_threads() {
  const OpenMp* omp = open_mp();
  return regions_run_on_teams() || !omp ? kAnyThreads : omp->get_thread_limit();
}

bool in_parallel_region() {
  const OpenMp* omp = open_mp();
  return omp && omp->in_parallel();
}

// tools/openmp.cc answers with fine shares, libgomp with the limit.
bool regions_run_on_teams() {
  static const bool here = [] {
    const ThreadLimit limit(2);
    const FineShares fine;
    const OpenMp* omp = open_mp();
    return omp && omp->get_max_threads() > 2;
  }();
  return here;
}

FineShares::FineShares() : before_(std::exchange(fine_here, true)) {}
FineShares::~FineShares() { fine_here = before_; }

int thread_limit_here() { return limit_here; }
bool fine_shares_here() { return fine_here; }

}  // namespace lockstep
