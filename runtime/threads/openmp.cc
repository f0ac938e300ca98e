// SPDX-License-Identifier: Apache-2.0
// The entry points of libgomp that oneDNN calls. A program's definitions come before a library's.
// So within a ThreadLimit, as in a step, oneDNN's parallel regions run on the calling thread's
// team, and a replica has one set of threads. Elsewhere, such as in a program's own OpenMP regions,
// calls go to libgomp.
#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <utility>

#include "runtime/threads/parallel.h"
#include "runtime/threads/team.h"

extern "C" {
void omp_set_num_threads(int threads);
int omp_get_max_threads();
}

namespace {

using lockstep::PlaceInTeam;
using lockstep::Team;

thread_local int limit_here = 0;  // no limit
thread_local bool fine_here = false;

// Returns the number of shares that oneDNN makes for this thread. Limited, because more shares than
// threads need would only make them small.
int shares_here() {
  constexpr int kForEach = 8, kMost = 32;
  if (!fine_here || limit_here <= 1) return limit_here;
  return std::max(limit_here, std::min(kForEach * limit_here, kMost));
}

template <class Function>
Function* libgomp(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

struct Region {
  void (*function)(void*);
  void* data;
};

void run_region(void* data, int, int) {
  const Region& region = *static_cast<const Region*>(data);
  region.function(region.data);
}

// Runs a region within another region, or a region of one share.
void run_alone(const Region& region) {
  PlaceInTeam& place = lockstep::place_in_team();
  const PlaceInTeam before = place;
  place = {before.team ? before.team : &Team::of_this_thread(), 0, 1};
  region.function(region.data);
  place = before;
}

}  // namespace

namespace lockstep {

// Also sets the limit in libgomp, for other code that reads it.
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

}  // namespace lockstep

extern "C" {

void GOMP_parallel(void (*function)(void*), void* data, unsigned threads, unsigned flags) {
  const bool inside = lockstep::place_in_team().inside();
  if (!inside && limit_here == 0) {
    static auto* const next =
        libgomp<void(void (*)(void*), void*, unsigned, unsigned)>("GOMP_parallel");
    return next(function, data, threads, flags);
  }
  Region region{function, data};
  const int shares = threads ? static_cast<int>(threads) : shares_here();
  if (inside || shares <= 1) return run_alone(region);
  // Fine shares do not need a thread each.
  const int members = fine_here ? std::min(shares, limit_here) : shares;
  Team& team = Team::of_this_thread();
  try {
    team.grow(members);
  } catch (const std::exception& error) {
    // Shares that wait for each other need all threads, and oneDNN cannot handle exceptions.
    std::fprintf(stderr, "lockstep: %d threads could not be started: %s\n", members, error.what());
    std::abort();
  }
  team.run(shares, members, run_region, &region);
}

void GOMP_barrier() {
  if (lockstep::place_in_team().inside()) return Team::barrier();
  static auto* const next = libgomp<void()>("GOMP_barrier");
  next();
}

int omp_get_thread_num() {
  const PlaceInTeam& place = lockstep::place_in_team();
  if (place.inside()) return place.share;
  static auto* const next = libgomp<int()>("omp_get_thread_num");
  return next();
}

int omp_get_num_threads() {
  const PlaceInTeam& place = lockstep::place_in_team();
  if (place.inside()) return place.shares;
  static auto* const next = libgomp<int()>("omp_get_num_threads");
  return next();
}

int omp_get_max_threads() {
  if (lockstep::place_in_team().inside()) return 1;
  if (const int shares = shares_here()) return shares;
  static auto* const next = libgomp<int()>("omp_get_max_threads");
  return next();
}

int omp_in_parallel() {
  if (lockstep::place_in_team().inside()) return 1;
  static auto* const next = libgomp<int()>("omp_in_parallel");
  return next();
}

}  // extern "C"
