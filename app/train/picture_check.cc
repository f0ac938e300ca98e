// SPDX-License-Identifier: Apache-2.0
#include "app/train/picture_check.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>

#include "app/format.h"
#include "graph/limits.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

constexpr std::size_t kMostNamed = 20;
constexpr int64_t kAtOnce = 64;    // pictures that a thread takes at once
constexpr int kLeastThreads = 16;  // most of them wait for the disk, or for the network
constexpr auto kPatience = std::chrono::seconds(3);

class Check {
 public:
  explicit Check(const std::vector<PicturesToCheck>& sets) : sets_(sets) {
    for (const PicturesToCheck& set : sets) count_ += set.count;
  }

  int64_t count() const { return count_; }

  void work() {
    for (int64_t first = next_.fetch_add(kAtOnce); first < count_; first = next_.fetch_add(kAtOnce))
      for (int64_t i = first; i < std::min(first + kAtOnce, count_); ++i) look_at(i);
  }

  // Starts up to `threads` threads; works in this thread if none can be started.
  void run(int threads, const std::function<void(const std::string&)>& say) {
    const auto start = std::chrono::steady_clock::now();
    std::vector<std::thread> workers;
    const int64_t wanted =
        std::min<int64_t>(std::max(threads, kLeastThreads), (count_ - 1) / kAtOnce + 1);
    try {
      while (static_cast<int64_t>(workers.size()) < wanted)
        workers.emplace_back([this] {
          work();
          const std::lock_guard lock(mutex_);
          ++ended_;
          end_.notify_all();
        });
    } catch (const std::system_error&) {
      if (workers.empty()) return work();
    }
    const bool slow = !wait_for(workers.size());
    if (slow) say(join("reading the headers of ", text_of_count()));
    for (std::thread& worker : workers) worker.join();
    if (slow)
      say(join("read the headers of ", text_of_count(), " in ", clock_text(seconds_since(start))));
  }

  void fail_if_broken() const {
    if (trouble_) std::rethrow_exception(trouble_);
    if (broken_ == 0) return;
    std::string text =
        join(short_number(static_cast<double>(broken_)), " of ", text_of_count(),
             " cannot be read; TRAIN.SKIP_BAD_IMAGES true goes on without such pictures:");
    for (const auto& [number, why] : first_) text += "\n  " + why;
    const int64_t more = broken_ - static_cast<int64_t>(first_.size());
    if (more > 0) text += join("\n  and ", short_number(static_cast<double>(more)), " more");
    fail(text);
  }

 private:
  std::string text_of_count() const { return count_of(count_, "picture", "pictures"); }

  bool wait_for(std::size_t workers) {
    std::unique_lock lock(mutex_);
    return end_.wait_for(lock, kPatience, [&] { return ended_ == workers; });
  }

  void look_at(int64_t number) {
    int64_t in_set = number;
    std::size_t set = 0;
    while (in_set >= sets_[set].count) in_set -= sets_[set++].count;
    try {
      sets_[set].look(in_set);
    } catch (const NoMemory&) {
      stop_for(std::current_exception());
    } catch (const Error& error) {
      const std::lock_guard lock(mutex_);
      ++broken_;
      first_.emplace(number, error.what());
      if (first_.size() > kMostNamed) first_.erase(std::prev(first_.end()));
    } catch (...) {
      stop_for(std::current_exception());
    }
  }

  // Stops the check for an error that is not about a picture.
  void stop_for(std::exception_ptr trouble) {
    next_ = count_;
    const std::lock_guard lock(mutex_);
    if (!trouble_) trouble_ = std::move(trouble);
  }

  const std::vector<PicturesToCheck>& sets_;
  int64_t count_ = 0;
  std::atomic<int64_t> next_{0};
  std::mutex mutex_;
  std::condition_variable end_;
  std::size_t ended_ = 0;
  std::exception_ptr trouble_;
  int64_t broken_ = 0;
  std::map<int64_t, std::string> first_;  // of the broken pictures
};

}  // namespace

void check_pictures(const std::vector<PicturesToCheck>& sets, int threads,
                    const std::function<void(const std::string& line)>& say) {
  Check check(sets);
  if (check.count() == 0) return;
  check.run(threads, say);
  check.fail_if_broken();
}

}  // namespace lockstep
