// SPDX-License-Identifier: Apache-2.0
#include "runtime/threads/contention.h"

#include <sched.h>

#include <cstdlib>

#include "runtime/threads/cores.h"

namespace lockstep {
namespace {

bool said_by_user() { return std::getenv("GOMP_SPINCOUNT") || std::getenv("OMP_WAIT_POLICY"); }

// Returns the process's cores if `threads` need all of them. With cores to spare, the scheduler
// finds a free core.
std::vector<int> cores_for(int threads) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return {};
  if (CPU_COUNT(&allowed) != threads) return {};
  std::vector<int> cores;
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &allowed)) cores.push_back(core);
  return cores;
}

}  // namespace

Contention::Contention(int teams, int threads_of_each)
    : teams_(teams),
      threads_(threads_of_each),
      wanted_(!said_by_user()),
      crowded_(wanted_ && teams * threads_of_each > cpu_cores()) {
  if (wanted_) cores_ = cores_for(teams * threads_of_each);
  if (threads_of_each == 1 && cores_.size() < 2) wanted_ = false;
}

void Contention::look() {
  if (!wanted_) return;
  const auto now = std::chrono::steady_clock::now();
  if (!judge_.due(now)) return;
  if (const auto times = clock_.read())
    look(now, *times);
  else
    wanted_ = false;
}

void Contention::look(ContentionDetector::Time now, const CoreTimes& so_far) {
  if (!wanted_) return;
  there_ = judge_.look(now, so_far);
  if (so_far.ran > 0) ++looks_;  // otherwise this kernel does not count
}

Team::WaitPolicy Contention::wait_policy_of(int worker) const {
  Team::WaitPolicy manner;
  manner.short_waits = there_ || crowded_;
  const bool alone = wanted_ && !there_ && looks_ > 1;
  const bool keep_to_cores = threads_ == 1 ? alone : there_;
  if (keep_to_cores && worker < teams_ && !cores_.empty())
    manner.cores = std::span(cores_).subspan(worker * threads_, threads_);
  return manner;
}

}  // namespace lockstep
