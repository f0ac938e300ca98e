#include "runtime/exec/shared_cores.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

namespace lockstep {
namespace {

constexpr int64_t kSharedPart = 20;
constexpr int64_t kQuietPart = 40;
constexpr int kQuietLooks = 5;
constexpr int64_t kTooLittle = 10'000'000;  // nanoseconds of threads, to judge by

// "time run, time waited, slices"; false if the thread has ended.
bool add_times(int threads, const char* thread, CoreTimes& sum) {
  char path[300];
  std::snprintf(path, sizeof(path), "%s/schedstat", thread);
  const int file = openat(threads, path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  char text[100];
  const ssize_t read_bytes = ::read(file, text, sizeof(text) - 1);
  ::close(file);
  if (read_bytes <= 0) return false;
  text[read_bytes] = 0;
  long long ran = 0, waited = 0;
  if (std::sscanf(text, "%lld %lld", &ran, &waited) != 2) return false;
  sum.ran += ran;
  sum.waited += waited;
  return true;
}

}  // namespace

CoreClock::CoreClock() : threads_(opendir("/proc/self/task")) {}

CoreClock::~CoreClock() {
  if (threads_) closedir(static_cast<DIR*>(threads_));
}

std::optional<CoreTimes> CoreClock::read() {
  if (!threads_) return std::nullopt;
  auto* threads = static_cast<DIR*>(threads_);
  rewinddir(threads);
  CoreTimes sum;
  bool any = false;
  while (const dirent* thread = readdir(threads))
    if (thread->d_name[0] != '.') any |= add_times(dirfd(threads), thread->d_name, sum);
  if (!any) return std::nullopt;
  return sum;
}

bool SharedCores::look(Time now, const CoreTimes& so_far) {
  next_ = now + kBetween;
  // A thread that ended took its times with it: nothing can be said this time.
  const bool comparable = last_ && so_far.ran >= last_->ran && so_far.waited >= last_->waited;
  const CoreTimes before = comparable ? *last_ : so_far;
  const int64_t waited = so_far.waited - before.waited;
  const int64_t all = so_far.ran - before.ran + waited;
  if (comparable && all < kTooLittle) return shared_;  // adds up until the next look
  last_ = so_far;
  if (!comparable) return shared_;
  quiet_ = waited * kQuietPart < all ? quiet_ + 1 : 0;
  if (waited * kSharedPart >= all) shared_ = true;
  if (quiet_ >= kQuietLooks) shared_ = false;
  return shared_;
}

}  // namespace lockstep
