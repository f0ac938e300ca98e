// SPDX-License-Identifier: Apache-2.0
// Redefines the entry points of libgomp that oneDNN calls, for programs that call run_command(): a
// program's definitions precede a library's. Under a ThreadLimit, as in a step, oneDNN's parallel
// regions then run on the calling thread's Team, so a replica has one set of threads, and other
// replicas' work does not delay its shares. Without a ThreadLimit the calls go to libgomp. The
// library works without this file, with the same bits.
#include "tools/openmp.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "runtime/threads/team.h"
#include "runtime/threads/thread_limit.h"

bool lockstep::shares_libgomp_threads() { return true; }

namespace {

using lockstep::PlaceInTeam;
using lockstep::Team;

// The number of shares that oneDNN makes on this thread; 0 without a limit. More than kMost shares
// would be small without any gain.
int shares_here() {
  constexpr int kForEach = 8, kMost = 32;
  const int limit = lockstep::thread_limit_here();
  if (!lockstep::fine_shares_here() || limit <= 1) return limit;
  return std::max(limit, std::min(kForEach * limit, kMost));
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

// Runs a region that is nested in another region, or has one share.
void run_alone(const Region& region) {
  PlaceInTeam& place = lockstep::place_in_team();
  const PlaceInTeam before = place;
  place = {before.team ? before.team : &Team::of_this_thread(), 0, 1};
  region.function(region.data);
  place = before;
}

}  // namespace

extern "C" {

void GOMP_parallel(void (*function)(void*), void* data, unsigned threads, unsigned flags) {
  const bool inside = lockstep::place_in_team().inside();
  if (!inside && lockstep::thread_limit_here() == 0) {
    static auto* const next =
        libgomp<void(void (*)(void*), void*, unsigned, unsigned)>("GOMP_parallel");
    return next(function, data, threads, flags);
  }
  Region region{function, data};
  const int shares = threads ? static_cast<int>(threads) : shares_here();
  if (inside || shares <= 1) return run_alone(region);
  // With fine shares there are more shares than threads.
  const int members =
      lockstep::fine_shares_here() ? std::min(shares, lockstep::thread_limit_here()) : shares;
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
