// SPDX-License-Identifier: Apache-2.0
#include "runtime/threads/contention_detector.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>

namespace lockstep {
namespace {

constexpr int kLinksOfFolder = 2;  // besides one per thread
constexpr int64_t kSharedPart = 20;
constexpr int64_t kQuietPart = 40;
constexpr int kQuietLooks = 5;
constexpr int64_t kTooLittle = 10'000'000;  // minimum of thread time, in nanoseconds

// Parses "time run, time waited, slices". False if the thread has ended. (A scanf is slow when
// cold.)
bool add_times(int file, CoreTimes& sum) {
  char text[100];
  const ssize_t bytes = pread(file, text, sizeof(text), 0);
  if (bytes <= 0) return false;
  int64_t ran = 0, waited = 0;
  const auto [space, wrong] = std::from_chars(text, text + bytes, ran);
  if (wrong != std::errc() || space == text + bytes) return false;
  if (std::from_chars(space + 1, text + bytes, waited).ec != std::errc()) return false;
  sum.ran += ran;
  sum.waited += waited;
  return true;
}

int open_times(int threads, const char* thread) {
  char path[300];
  std::snprintf(path, sizeof(path), "%s/schedstat", thread);
  return openat(threads, path, O_RDONLY | O_CLOEXEC);
}

}  // namespace

CoreClock::CoreClock() : threads_(opendir("/proc/self/task")) {}

CoreClock::~CoreClock() {
  close_all();
  if (threads_) closedir(static_cast<DIR*>(threads_));
}

void CoreClock::close_all() {
  for (int i = 0; i < open_; ++i) ::close(files_[i]);
  open_ = 0;
}

std::optional<CoreTimes> CoreClock::read() {
  if (!threads_) return std::nullopt;
  struct stat folder;
  if (fstat(dirfd(static_cast<DIR*>(threads_)), &folder) != 0) return std::nullopt;
  const int threads = static_cast<int>(folder.st_nlink) - kLinksOfFolder;
  CoreTimes sum;
  if (open_ > 0 && open_ == threads && read_open(sum)) return sum;
  return read_all(threads);
}

bool CoreClock::read_open(CoreTimes& sum) const {
  for (int i = 0; i < open_; ++i)
    if (!add_times(files_[i], sum)) return false;
  return true;
}

std::optional<CoreTimes> CoreClock::read_all(int listed) {
  close_all();
  auto* threads = static_cast<DIR*>(threads_);
  rewinddir(threads);
  CoreTimes sum;
  bool any = false;
  while (const dirent* thread = readdir(threads)) {
    if (thread->d_name[0] == '.') continue;
    const int file = open_times(dirfd(threads), thread->d_name);
    if (file < 0) continue;
    any |= add_times(file, sum);
    if (open_ < kMostOpen)
      files_[open_++] = file;
    else
      ::close(file);
  }
  // A thread without an open file would be missed as long as the number of threads stays the same.
  if (open_ != listed) close_all();
  if (!any) return std::nullopt;
  return sum;
}

bool ContentionDetector::look(Time now, const CoreTimes& so_far) {
  next_ = now + kBetween;
  // The times of a thread that ended are missing: no judgement this time.
  const bool comparable = last_ && so_far.ran >= last_->ran && so_far.waited >= last_->waited;
  const CoreTimes before = comparable ? *last_ : so_far;
  const int64_t waited = so_far.waited - before.waited;
  const int64_t all = so_far.ran - before.ran + waited;
  if (comparable && all < kTooLittle) return shared_;  // accumulates until the next look
  last_ = so_far;
  if (!comparable) return shared_;
  quiet_ = waited * kQuietPart < all ? quiet_ + 1 : 0;
  if (waited * kSharedPart >= all) shared_ = true;
  if (quiet_ >= kQuietLooks) shared_ = false;
  return shared_;
}

}  // namespace lockstep
