// SPDX-License-Identifier: Apache-2.0
// The threads of a session: one per replica, and one for messages to other processes.
#pragma once

#include <atomic>
#include <thread>
#include <vector>

#include "runtime/threads/contention.h"

namespace lockstep {

class Workers {
 public:
  // `threads`: the limit for each worker's kernels. The last `exchanging` workers compute little.
  // Throws if not all threads can be started.
  Workers(int count, int threads, int exchanging = 0);
  ~Workers();
  Workers(const Workers&) = delete;

  int count() const { return count_; }

  // Calls job(context, worker) on every worker and waits for all. A single worker runs in the
  // calling thread, unless oneDNN's regions run in an OpenMP library: the calling thread may be
  // inside a region of the program, where oneDNN would get one thread. Allocates nothing. The job
  // must not throw.
  using Job = void (*)(void* context, int worker);
  void run(Job job, void* context);

 private:
  void serve(int worker);
  void do_job(int worker);
  void end_threads();

  int count_;
  int threads_;
  bool own_threads_;
  Contention contention_;
  std::vector<std::thread> pool_;
  Job job_ = nullptr;
  void* context_ = nullptr;
  std::atomic<int> round_{0};
  std::atomic<int> left_{0};
};

}  // namespace lockstep
