#include "runtime/workers.h"

#include "runtime/parallel.h"

namespace lockstep {

Workers::Workers(int count, int threads) : count_(count), threads_(threads) {
  if (count_ == 1) return;
  for (int worker = 0; worker < count_; ++worker)
    pool_.emplace_back([this, worker] { serve(worker); });
}

Workers::~Workers() {
  job_ = nullptr;
  round_.fetch_add(1);
  round_.notify_all();
  for (std::thread& thread : pool_) thread.join();
}

void Workers::run(Job job, void* context) {
  if (count_ == 1) {
    set_threads_of_this_thread(threads_);
    job(context, 0);
    return;
  }
  job_ = job;
  context_ = context;
  left_.store(count_);
  round_.fetch_add(1);
  round_.notify_all();
  for (int left = left_.load(); left > 0; left = left_.load()) left_.wait(left);
}

void Workers::serve(int worker) {
  set_threads_of_this_thread(threads_);
  int seen = 0;
  while (true) {
    round_.wait(seen);
    seen = round_.load();
    if (!job_) return;
    job_(context_, worker);
    if (left_.fetch_sub(1) == 1) left_.notify_all();
  }
}

}  // namespace lockstep
