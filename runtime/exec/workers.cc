// SPDX-License-Identifier: Apache-2.0
#include "runtime/exec/workers.h"

#include <exception>

#include "lockstep/error.h"
#include "runtime/threads/float_mode.h"
#include "runtime/threads/team.h"
#include "runtime/threads/thread_check.h"
#include "runtime/threads/thread_limit.h"

namespace lockstep {

Workers::Workers(int count, int threads, int exchanging)
    : count_(count),
      threads_(threads),
      own_threads_(count > 1 || (threads > 1 && !regions_run_on_teams())),
      contention_(count - exchanging, threads) {
  check(threads_ <= most_openmp_threads(), "OMP_THREAD_LIMIT is ", most_openmp_threads(),
        ", but a replica has ", threads_,
        " threads; unset OMP_THREAD_LIMIT or give the session fewer threads");
  std::size_t others_begun = 0;
  try {
    for (int worker = 0; own_threads_ && worker < count_; ++worker)
      pool_.emplace_back([this, worker] { serve(worker); });
    // The other threads of the workers' teams start when there is work. This checks that they can.
    try_threads(int64_t{count_} * (threads_ - 1), others_begun);
  } catch (const std::exception& error) {
    const std::size_t begun = pool_.size() + others_begun;
    end_threads();
    fail("only ", begun, " of ", int64_t{count_} * threads_, " threads could be started, ",
         threads_, " (THREADS) for each of ", count_, ": ", error.what());
  }
}

Workers::~Workers() { end_threads(); }

void Workers::end_threads() {
  job_ = nullptr;
  round_.fetch_add(1);
  round_.notify_all();
  for (std::thread& thread : pool_) thread.join();
}

void Workers::run(Job job, void* context) {
  contention_.look();
  job_ = job;
  context_ = context;
  if (!own_threads_) return do_job(0);
  left_.store(count_);
  round_.fetch_add(1);
  round_.notify_all();
  for (int left = left_.load(); left > 0; left = left_.load()) left_.wait(left);
}

void Workers::do_job(int worker) {
  const ThreadLimit limit(threads_);
  const FlushSubnormals flush;
  Team& team = Team::of_this_thread();
  Team::WaitPolicy policy = contention_.wait_policy_of(worker);
  // The OpenMP library's threads spin beside the team's, and would inherit this thread's core.
  if (!regions_run_on_teams()) policy = {true, {}};
  team.begin(policy);
  job_(context_, worker);
  if (!own_threads_) team.end();  // the calling thread has other work; pool threads have none
}

void Workers::serve(int worker) {
  int seen = 0;
  while (true) {
    round_.wait(seen);
    seen = round_.load();
    if (!job_) return;
    do_job(worker);
    if (left_.fetch_sub(1) == 1) left_.notify_all();
  }
}

}  // namespace lockstep
