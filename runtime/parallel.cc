#include "runtime/parallel.h"

#include <algorithm>

// libgomp's stable interface; <omp.h> belongs to the compiler, these symbols to the library that
// oneDNN links.
extern "C" {
void GOMP_parallel(void (*function)(void*), void* data, unsigned threads, unsigned flags);
void omp_set_num_threads(int threads);
int omp_get_thread_num();
int omp_get_num_threads();
int omp_get_max_threads();
int omp_get_num_procs();
}

namespace lockstep {

void set_threads_of_this_thread(int threads) { omp_set_num_threads(std::max(1, threads)); }

int threads_of_this_thread() { return omp_get_max_threads(); }

int cores_of_openmp() { return omp_get_num_procs(); }

namespace detail {
namespace {

struct Team {
  int64_t count;
  RangeBody body;
  void* context;
};

void run_share(void* data) {
  const Team& team = *static_cast<const Team*>(data);
  int64_t threads = omp_get_num_threads();
  int64_t me = omp_get_thread_num();
  int64_t begin = team.count * me / threads;
  int64_t end = team.count * (me + 1) / threads;
  if (begin < end) team.body(team.context, begin, end);
}

}  // namespace

void run_ranges(int64_t count, int64_t grain, int threads, RangeBody body, void* context) {
  Team team{count, body, context};
  int64_t pieces = std::max<int64_t>(1, count / std::max<int64_t>(1, grain));
  GOMP_parallel(run_share, &team, static_cast<unsigned>(std::min<int64_t>(threads, pieces)), 0);
}

}  // namespace detail
}  // namespace lockstep
