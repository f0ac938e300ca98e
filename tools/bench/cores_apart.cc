// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/cores_apart.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>
#include <thread>
#include <vector>

namespace lockstep {
namespace {

constexpr int kRounds = 2000, kTimes = 5;

std::vector<int> usable_cores() {
  cpu_set_t usable;
  std::vector<int> cores;
  if (sched_getaffinity(0, sizeof(usable), &usable) == 0)
    for (int core = 0; core < CPU_SETSIZE; ++core)
      if (CPU_ISSET(core, &usable)) cores.push_back(core);
  return cores;
}

void keep_to(int core) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(core, &one);
  pthread_setaffinity_np(pthread_self(), sizeof(one), &one);
}

}  // namespace

std::optional<double> seconds_between_cores() {
  const std::vector<int> cores = usable_cores();
  if (cores.size() < 2) return std::nullopt;
  alignas(64) std::atomic<int> turn{0};
  // Waits for its turn and passes the turn on, `rounds` times.
  const auto play = [&turn](int first_turn, int rounds) {
    for (int mine = first_turn; mine < first_turn + 2 * rounds; mine += 2) {
      while (turn.load(std::memory_order_acquire) != mine) {
      }
      turn.store(mine + 1, std::memory_order_release);
    }
  };
  double fastest = std::numeric_limits<double>::infinity();
  std::thread there([&] {
    keep_to(cores[1]);
    play(1, kRounds * kTimes);
  });
  std::thread here([&] {
    keep_to(cores[0]);
    for (int time = 0; time < kTimes; ++time) {
      const auto start = std::chrono::steady_clock::now();
      play(2 * kRounds * time, kRounds);
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
      fastest = std::min(fastest, took.count() / kRounds);
    }
  });
  here.join();
  there.join();
  return fastest;
}

}  // namespace lockstep
