// SPDX-License-Identifier: Apache-2.0
// Tasks for threads that work while the caller goes on, such as drawing masks while the network
// sees the next pictures.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace lockstep {

class BackgroundTasks {
 public:
  // Starts the threads, at least one. Throws if no thread can be started.
  explicit BackgroundTasks(int threads);
  ~BackgroundTasks();  // drops tasks that have not begun
  BackgroundTasks(const BackgroundTasks&) = delete;

  // Adds a task. Waits while many tasks have not begun, because tasks hold memory. If a task has
  // thrown an exception, does what wait() does instead.
  void add(std::function<void()> task);
  // Returns when all tasks have ended. Rethrows the exception of the first task, in the order of
  // add(), that threw one.
  void wait();

 private:
  void wait_for_all(std::unique_lock<std::mutex>& lock);
  void work();
  void end_threads();

  std::mutex mutex_;
  std::condition_variable may_work_, changed_;
  std::deque<std::pair<int64_t, std::function<void()>>> waiting_;  // with their numbers
  std::size_t most_waiting_;
  int64_t added_ = 0, left_ = 0;  // left_: tasks that have not ended
  std::exception_ptr error_;
  int64_t failed_ = 0;  // the number of the task of error_
  bool stop_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace lockstep
