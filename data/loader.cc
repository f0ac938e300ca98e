#include "data/loader.h"

#include <numeric>
#include <system_error>

#include "graph/error.h"
#include "runtime/philox.h"

namespace lockstep {
namespace {

constexpr uint64_t kShuffleStream = uint64_t{1} << 40;  // above the streams of parameters

}  // namespace

int64_t EpochOrder::at(int64_t position) {
  const int64_t epoch = position / size_;
  if (epoch != epoch_) {
    order_.resize(static_cast<std::size_t>(size_));
    std::iota(order_.begin(), order_.end(), 0);
    PhiloxSequence random(seed_, kShuffleStream + static_cast<uint64_t>(epoch));
    for (int64_t i = size_ - 1; i > 0; --i) std::swap(order_[i], order_[random.below(i + 1)]);
    epoch_ = epoch;
  }
  return order_[position % size_];
}

Loader::Loader(const Dataset& dataset, const LoaderOptions& options)
    : dataset_(dataset), options_(options), order_(dataset.size(), options.seed), slots_(kAhead) {
  check(options.batch > 0, "a batch of ", options.batch, " images");
  if (options_.count < 0) options_.count = options.batch - options.first;
  check(options_.count > 0 && options_.first + options_.count <= options.batch, "images ",
        options_.first, " to ", options_.first + options_.count, " of a batch of ", options.batch);
  check(dataset.size() > 0, "the data set is empty");
  for (Slot& slot : slots_) {
    slot.batch.images.resize(static_cast<std::size_t>(options_.count * dataset.image_values()));
    slot.batch.labels.resize(static_cast<std::size_t>(options_.count));
    slot.left = options_.count;
  }
  paused_ = true;  // until the first get()
  try {
    for (int i = 0; i < std::max(1, options.threads); ++i)
      threads_.emplace_back([this] { work(); });
  } catch (const std::system_error& error) {
    const std::size_t begun = threads_.size();
    end_threads();
    fail("only ", begun, " of ", options.threads,
         " threads that read images could be started (DATA.THREADS): ", error.what());
  }
}

Loader::~Loader() { end_threads(); }

void Loader::end_threads() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  may_read_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

const Batch& Loader::get(int64_t step) {
  std::unique_lock lock(mutex_);
  if (paused_ || step != in_use_ + 1) seek(step, lock);
  if (in_use_ >= 0 && in_use_ < step) slot(in_use_).left = options_.count;  // its memory is free
  in_use_ = step;
  may_read_.notify_all();
  Slot& wanted = slot(step);
  batch_done_.wait(lock, [&] { return wanted.left == 0; });
  if (wanted.error) {
    std::exception_ptr error = wanted.error;
    paused_ = true;  // a caller that catches this may retry
    std::rethrow_exception(error);
  }
  return wanted.batch;
}

// Waits until no thread reads, then continues from `step`.
void Loader::seek(int64_t step, std::unique_lock<std::mutex>& lock) {
  paused_ = true;
  batch_done_.wait(lock, [&] { return reading_ == 0; });
  for (Slot& slot : slots_) {
    slot.left = options_.count;
    slot.error = nullptr;
  }
  in_use_ = -1;
  next_step_ = step;
  next_image_ = 0;
  paused_ = false;
}

void Loader::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    // The batch in use must not be overwritten.
    may_read_.wait(lock, [&] {
      return stop_ ||
             (!paused_ && next_step_ < std::max<int64_t>(in_use_, 0) + kAhead && in_use_ >= 0);
    });
    if (stop_) return;
    const int64_t step = next_step_, image = next_image_;
    if (++next_image_ == options_.count) {
      next_image_ = 0;
      ++next_step_;
    }
    const int64_t position = step * options_.batch + options_.first + image;
    const int64_t index = options_.shuffle ? order_.at(position) : position % dataset_.size();
    Slot& target = slot(step);
    ++reading_;
    lock.unlock();
    std::exception_ptr error;
    try {
      dataset_.read(index, static_cast<uint64_t>(position),
                    target.batch.images.data() + image * dataset_.image_values(),
                    target.batch.labels.data() + image);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    --reading_;
    if (error && !target.error) target.error = error;
    --target.left;
    if (target.left == 0 || (paused_ && reading_ == 0)) batch_done_.notify_all();
  }
}

}  // namespace lockstep
