// SPDX-License-Identifier: Apache-2.0
#include "lockstep/loader.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "lockstep/error.h"
#include "runtime/nanoseconds.h"

namespace lockstep {

struct Loader::Members {
  Members(const MinibatchSource& source, int threads);
  ~Members() { end_threads(); }

  std::span<const Tensor> get(int64_t step);
  bool is_ready(int64_t step);
  int64_t queue();
  std::vector<ItemSpan> record(bool on);

 private:
  struct Slot {
    std::vector<std::vector<std::byte>> memory;  // of each tensor, in its largest form
    std::vector<std::vector<Tensor>> tensors;    // by form
    std::size_t form = 0;
    int64_t left = 0;  // items still to be read
    std::exception_ptr error;
  };

  void make_slots();
  void end_threads();
  void work(int thread);
  void choose_form(int64_t step, Slot& target) const;  // an exception becomes the slot's error
  void seek(int64_t step, std::unique_lock<std::mutex>& lock);
  Slot& slot(int64_t step) { return slots_[step % kAhead]; }

  const MinibatchSource& source_;
  std::vector<Slot> slots_;
  std::mutex mutex_;
  std::condition_variable may_read_, step_done_;
  int64_t in_use_ = -1;    // the step of the caller's minibatch
  int64_t next_step_ = 0;  // the next item to read: next_item_ of this step
  int64_t next_item_ = 0;
  int64_t reading_ = 0;  // threads reading an item
  bool paused_ = true;   // until the first get()
  bool stop_ = false;
  bool records_ = false;
  std::vector<ItemSpan> recorded_;
  std::vector<std::thread> threads_;
};

Loader::Loader(const MinibatchSource& source, int threads)
    : members_(std::make_unique<Members>(source, threads)) {}
Loader::~Loader() = default;
std::span<const Tensor> Loader::get(int64_t step) { return members_->get(step); }
bool Loader::is_ready(int64_t step) { return members_->is_ready(step); }
int64_t Loader::queue() { return members_->queue(); }
std::vector<ItemSpan> Loader::record(bool on) { return members_->record(on); }

Loader::Members::Members(const MinibatchSource& source, int threads)
    : source_(source), slots_(kAhead) {
  check(source.items() > 0, "a minibatch has ", source.items(), " items, should have at least 1");
  make_slots();
  try {
    for (int i = 0; i < std::max(1, threads); ++i) threads_.emplace_back([this, i] { work(i); });
  } catch (const std::system_error& error) {
    const std::size_t begun = threads_.size();
    end_threads();
    fail("only ", begun, " of ", threads,
         " threads that read images could be started (DATA.THREADS, DATA_LOADER.NUM_THREADS): ",
         error.what());
  }
}

void Loader::Members::make_slots() {
  const std::vector<MinibatchForm>& forms = source_.forms();
  check(!forms.empty(), "a source of minibatches without a form");
  for (Slot& slot : slots_) {
    slot.left = source_.items();
    slot.memory.resize(forms.at(0).size());
    for (const MinibatchForm& form : forms)
      for (std::size_t i = 0; i < form.size(); ++i)
        slot.memory[i].resize(std::max(slot.memory[i].size(), form[i].desc.bytes()));
    for (const MinibatchForm& form : forms) {
      std::vector<Tensor>& tensors = slot.tensors.emplace_back();
      for (std::size_t i = 0; i < form.size(); ++i)
        tensors.push_back({form[i].desc, slot.memory[i].data()});
    }
  }
}

void Loader::Members::end_threads() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  may_read_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

std::span<const Tensor> Loader::Members::get(int64_t step) {
  check(step >= 0, "minibatch ", step, "; steps begin at 0");
  std::unique_lock lock(mutex_);
  if (paused_ || step != in_use_ + 1) seek(step, lock);
  if (in_use_ >= 0 && in_use_ < step) slot(in_use_).left = source_.items();  // frees its memory
  in_use_ = step;
  may_read_.notify_all();
  Slot& wanted = slot(step);
  step_done_.wait(lock, [&] { return wanted.left == 0; });
  if (wanted.error) {
    std::exception_ptr error = wanted.error;
    paused_ = true;  // a caller that catches the error may retry
    std::rethrow_exception(error);
  }
  return wanted.tensors[wanted.form];
}

bool Loader::Members::is_ready(int64_t step) {
  const std::lock_guard lock(mutex_);
  return !paused_ && in_use_ >= 0 && step == in_use_ + 1 && slot(step).left == 0;
}

int64_t Loader::Members::queue() {
  const std::lock_guard lock(mutex_);
  int64_t whole = 0;
  if (!paused_ && in_use_ >= 0)
    while (whole + 1 < kAhead && slot(in_use_ + 1 + whole).left == 0) ++whole;
  return whole;
}

std::vector<ItemSpan> Loader::Members::record(bool on) {
  const std::lock_guard lock(mutex_);
  records_ = on;
  return std::exchange(recorded_, {});
}

// Waits until no thread reads, then continues from `step`.
void Loader::Members::seek(int64_t step, std::unique_lock<std::mutex>& lock) {
  paused_ = true;
  step_done_.wait(lock, [&] { return reading_ == 0; });
  for (Slot& slot : slots_) {
    slot.left = source_.items();
    slot.error = nullptr;
  }
  in_use_ = -1;
  next_step_ = step;
  next_item_ = 0;
  paused_ = false;
}

void Loader::Members::choose_form(int64_t step, Slot& target) const {
  try {
    const std::size_t form = source_.form(step);
    check(form < target.tensors.size(), "minibatch ", step, " has form ", form, " of ",
          target.tensors.size());
    target.form = form;
  } catch (...) {
    target.error = std::current_exception();
  }
}

void Loader::Members::work(int thread) {
  std::unique_lock lock(mutex_);
  while (true) {
    // The minibatch in use must not be overwritten.
    may_read_.wait(lock, [&] {
      return stop_ ||
             (!paused_ && next_step_ < std::max<int64_t>(in_use_, 0) + kAhead && in_use_ >= 0);
    });
    if (stop_) return;
    const int64_t step = next_step_, item = next_item_;
    if (++next_item_ == source_.items()) {
      next_item_ = 0;
      ++next_step_;
    }
    Slot& target = slot(step);
    if (item == 0) choose_form(step, target);
    const std::span<const Tensor> tensors = target.tensors[target.form];
    ++reading_;
    const bool records = records_;
    lock.unlock();
    const int64_t begins = records ? nanoseconds_now() : 0;
    std::exception_ptr error;
    try {
      source_.read(step, item, tensors);
    } catch (...) {
      error = std::current_exception();
    }
    const int64_t ends = records ? nanoseconds_now() : 0;
    lock.lock();
    if (records && records_) recorded_.push_back({thread, step, item, begins, ends});
    --reading_;
    if (error && !target.error) target.error = error;
    --target.left;
    if (target.left == 0 || (paused_ && reading_ == 0)) step_done_.notify_all();
  }
}

}  // namespace lockstep
