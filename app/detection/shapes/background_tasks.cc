// SPDX-License-Identifier: Apache-2.0
#include "app/detection/shapes/background_tasks.h"

#include <algorithm>
#include <system_error>

#include "lockstep/error.h"

namespace lockstep {
namespace {

constexpr std::size_t kWaitingOfThread = 4;

}  // namespace

BackgroundTasks::BackgroundTasks(int threads)
    : most_waiting_(kWaitingOfThread * static_cast<std::size_t>(std::max(1, threads))) {
  try {
    for (int i = 0; i < std::max(1, threads); ++i) threads_.emplace_back([this] { work(); });
  } catch (const std::system_error& error) {
    if (!threads_.empty()) return;  // the others' work is done, too
    fail("no thread that draws masks and points could be started: ", error.what());
  }
}

BackgroundTasks::~BackgroundTasks() { end_threads(); }

void BackgroundTasks::end_threads() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  may_work_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void BackgroundTasks::add(std::function<void()> task) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return waiting_.size() < most_waiting_; });
  if (error_) wait_for_all(lock);
  waiting_.emplace_back(added_++, std::move(task));
  ++left_;
  may_work_.notify_one();
}

void BackgroundTasks::wait() {
  std::unique_lock lock(mutex_);
  wait_for_all(lock);
}

void BackgroundTasks::wait_for_all(std::unique_lock<std::mutex>& lock) {
  changed_.wait(lock, [&] { return left_ == 0; });
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void BackgroundTasks::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    may_work_.wait(lock, [&] { return stop_ || !waiting_.empty(); });
    if (stop_) return;
    auto [number, task] = std::move(waiting_.front());
    waiting_.pop_front();
    changed_.notify_all();
    lock.unlock();
    std::exception_ptr error;
    try {
      task();
    } catch (...) {
      error = std::current_exception();
    }
    task = nullptr;  // frees its memory
    lock.lock();
    if (error && (!error_ || number < failed_)) {
      error_ = error;
      failed_ = number;
    }
    if (--left_ == 0) changed_.notify_all();
  }
}

}  // namespace lockstep
