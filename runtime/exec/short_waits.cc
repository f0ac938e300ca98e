#include "runtime/exec/short_waits.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <system_error>
#include <thread>

#include "runtime/parallel.h"
#include "runtime/try_threads.h"

namespace lockstep {
namespace {

// libgomp counts the first thread of the process and the others of each team. One more team must
// bring that to more than the cores, even if a single one of `threads_of_each` is at work.
int surplus_for(int threads_of_each) {
  if (threads_of_each <= 1) return 0;
  if (std::getenv("GOMP_SPINCOUNT") || std::getenv("OMP_WAIT_POLICY")) return 0;
  return std::max(2, cores_of_openmp() - threads_of_each + 2);
}

}  // namespace

// A team that sleeps until its end.
class ShortWaits::Surplus {
 public:
  // `others`: OpenMP's threads at work. libgomp ends the process where it cannot start one of them
  // again, so the surplus has to fit beside all of them.
  Surplus(int count, int others) {
    std::size_t begun = 0;
    try_threads(int64_t{count} + others, begun);
    thread_ = std::thread([this, count] {
      parallel_for(count, 1, count, [this](int64_t, int64_t) { ended_.wait(false); });
    });
  }
  ~Surplus() {
    ended_ = true;
    ended_.notify_all();
    thread_.join();
  }

 private:
  std::atomic<bool> ended_{false};
  std::thread thread_;
};

ShortWaits::ShortWaits(int teams, int threads_of_each)
    : surplus_count_(surplus_for(threads_of_each)), others_(teams * (threads_of_each - 1)) {}

ShortWaits::~ShortWaits() = default;

void ShortWaits::look() {
  if (surplus_count_ == 0) return;
  const auto now = std::chrono::steady_clock::now();
  if (!cores_.due(now)) return;
  if (const auto times = clock_.read())
    look(now, *times);
  else
    surplus_count_ = 0;
}

void ShortWaits::look(SharedCores::Time now, const CoreTimes& so_far) {
  if (surplus_count_ == 0) return;
  const bool shared = cores_.look(now, so_far);
  if (!shared) surplus_.reset();
  if (!shared || surplus_) return;
  try {
    surplus_ = std::make_unique<Surplus>(surplus_count_, others_);
  } catch (const std::system_error&) {
    surplus_count_ = 0;  // no threads left: waits stay long
  }
}

}  // namespace lockstep
