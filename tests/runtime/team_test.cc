// SPDX-License-Identifier: Apache-2.0
// The threads that share a kernel's work, as OpenMP sees them.
#include "runtime/threads/team.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <array>
#include <atomic>
#include <chrono>
#include <numeric>
#include <thread>
#include <vector>

#include "runtime/threads/parallel.h"
#include "runtime/threads/thread_limit.h"

extern "C" {
void GOMP_parallel(void (*function)(void*), void* data, unsigned threads, unsigned flags);
void GOMP_barrier();
int omp_get_thread_num();
int omp_get_num_threads();
int omp_get_max_threads();
int omp_in_parallel();
int dnnl_sgemm(char transpose_a, char transpose_b, int64_t m, int64_t n, int64_t k, float alpha,
               const float* a, int64_t lda, const float* b, int64_t ldb, float beta, float* c,
               int64_t ldc);
}

namespace lockstep::testing {
namespace {

// Runs the body on a new thread, so that each test has a new team.
template <class Body>
void on_new_thread(const Body& body) {
  std::thread(body).join();
}

template <class Work>
void run(Team& team, int shares, int threads, const Work& work) {
  team.run(
      shares, threads, [](void* data, int share, int) { (*static_cast<const Work*>(data))(share); },
      const_cast<void*>(static_cast<const void*>(&work)));
}

template <class Region>
void open_region(int threads, const Region& region) {
  GOMP_parallel([](void* data) { (*static_cast<const Region*>(data))(); },
                const_cast<void*>(static_cast<const void*>(&region)),
                static_cast<unsigned>(threads), 0);
}

int allowed_cores() {
  cpu_set_t allowed;
  sched_getaffinity(0, sizeof(allowed), &allowed);
  return CPU_COUNT(&allowed);
}

int first_allowed_core() {
  cpu_set_t allowed;
  sched_getaffinity(0, sizeof(allowed), &allowed);
  int core = 0;
  while (!CPU_ISSET(core, &allowed)) ++core;
  return core;
}

TEST(Team, RunsEveryShareOnce) {
  Team team;
  team.grow(4);
  EXPECT_EQ(team.threads(), 4);
  for (const int threads : {1, 2, 3, 4, 9})
    for (const int shares : {1, 2, 3, 4, 5, 31, 64, 1000})
      for (int round = 0; round < 20; ++round) {
        std::vector<int> runs(static_cast<std::size_t>(shares), 0);
        run(team, shares, threads, [&](int share) { ++runs[static_cast<std::size_t>(share)]; });
        EXPECT_EQ(runs, std::vector<int>(runs.size(), 1)) << shares << " shares, " << threads;
      }
}

// The thread with the first part holds it until all other parts have ended.
TEST(Team, AThreadThatIsHeldUpHoldsUpOneShare) {
  Team team;
  team.grow(2);
  for (const int held : {0, 3, 4, 7}) {
    std::atomic<int> ended{0};
    run(team, 8, 2, [&](int share) {
      while (share == held && ended.load() < 7) std::this_thread::yield();
      ++ended;
    });
    EXPECT_EQ(ended, 8);
  }
}

TEST(Team, GrowsBetweenRuns) {
  Team team;
  for (const int threads : {1, 2, 5, 3}) {
    team.grow(threads);
    std::atomic<int> sum{0};
    run(team, 10, threads, [&](int share) { sum += share; });
    EXPECT_EQ(sum, 45);
  }
  EXPECT_EQ(team.threads(), 5);
}

TEST(Team, KeepsToCoresUntilTheEnd) {
  on_new_thread([] {
    const int core = first_allowed_core(), all = allowed_cores();
    Team team;
    team.grow(2);
    const std::vector<int> cores{core, core};
    const auto most_cores_of_a_share = [&] {
      std::atomic<int> most{0}, begun{0};
      run(team, 2, 2, [&](int) {
        const int mine = allowed_cores();
        for (int seen = most; seen < mine && !most.compare_exchange_weak(seen, mine);) continue;
        ++begun;
        while (begun < 2) std::this_thread::yield();  // so both threads have a part
      });
      return most.load();
    };
    for (int time = 0; time < 2; ++time) {
      EXPECT_EQ(most_cores_of_a_share(), all);
      team.begin({.short_waits = true, .cores = cores});
      EXPECT_EQ(most_cores_of_a_share(), 1);
      team.begin({});
      EXPECT_EQ(most_cores_of_a_share(), all);
      team.begin({.cores = cores});
      team.begin({.short_waits = true, .cores = cores});
      EXPECT_EQ(most_cores_of_a_share(), 1);
      team.grow(3);  // new threads do not stay on the owner's core
      run(team, 3, 3, [](int) {});
      team.end();
      EXPECT_EQ(allowed_cores(), all);
      team.begin({});
      team.end();
    }
    EXPECT_EQ(most_cores_of_a_share(), all);
  });
}

TEST(OpenMp, RegionsRunOnTheTeam) {
  on_new_thread([] {
    const ThreadLimit limit(3);
    EXPECT_EQ(omp_get_max_threads(), 3);
    EXPECT_EQ(omp_in_parallel(), 0);
    std::vector<int> seen(3, 0);
    open_region(0, [&] {
      EXPECT_EQ(omp_get_num_threads(), 3);
      EXPECT_EQ(omp_in_parallel(), 1);
      EXPECT_EQ(omp_get_max_threads(), 1);
      ++seen[static_cast<std::size_t>(omp_get_thread_num())];
    });
    EXPECT_EQ(seen, (std::vector<int>{1, 1, 1}));
    EXPECT_EQ(omp_get_num_threads(), 1);
    EXPECT_EQ(Team::of_this_thread().threads(), 3);
  });
}

TEST(OpenMp, ARegionWithinARegionIsAlone) {
  on_new_thread([] {
    const ThreadLimit limit(2);
    std::atomic<int> inner{0};
    open_region(2, [&] {
      const int number = omp_get_thread_num();
      open_region(2, [&] {
        EXPECT_EQ(omp_get_num_threads(), 1);
        EXPECT_EQ(omp_get_thread_num(), 0);
        GOMP_barrier();
        ++inner;
      });
      parallel_for(100, 1, 2, [&](int64_t begin, int64_t end) {
        EXPECT_EQ(begin, 0);
        EXPECT_EQ(end, 100);
      });
      EXPECT_EQ(omp_get_thread_num(), number);
      EXPECT_EQ(omp_get_num_threads(), 2);
    });
    EXPECT_EQ(inner, 2);
  });
}

TEST(ParallelFor, CallsOfASlotFollowEachOther) {
  on_new_thread([] {
    constexpr int kThreads = 3;
    constexpr int64_t kCount = 600;
    std::array<std::atomic<int>, kThreads> busy{};
    std::array<std::atomic<int64_t>, kThreads> done{};
    std::atomic<int> wrong{0};
    const auto body = [&](int slot, int64_t begin, int64_t end) {
      if (slot < 0 || slot >= kThreads) {
        ++wrong;
        return;
      }
      const auto mine = static_cast<std::size_t>(slot);
      if (busy[mine].exchange(1) != 0) ++wrong;
      std::this_thread::sleep_for(std::chrono::microseconds(20));
      done[mine] += end - begin;
      busy[mine] = 0;
    };
    for (int round = 0; round < 20; ++round) {
      for (auto& of_slot : done) of_slot = 0;
      parallel_for_slots(kCount, 1, kThreads, body);
      EXPECT_EQ(done[0] + done[1] + done[2], kCount);
    }
    EXPECT_EQ(wrong, 0);
  });
}

// A thread of the previous round may arrive late, during a round for fewer threads.
TEST(ParallelFor, HasNoMoreSlotsThanThreads) {
  on_new_thread([] {
    std::atomic<int> wrong{0};
    for (int round = 0; round < 200; ++round) {
      parallel_for_slots(8, 1, 4, [](int, int64_t, int64_t) {});
      parallel_for_slots(8, 1, 2, [&](int slot, int64_t, int64_t) {
        if (slot >= 2) ++wrong;
        std::this_thread::sleep_for(std::chrono::microseconds(5));
      });
    }
    EXPECT_EQ(wrong, 0);
  });
}

// A nested loop runs on its thread alone with slot 0, and so do nested loops of other threads.
// Memory per slot must therefore also be per thread.
TEST(ParallelFor, OneWithinAnotherHasTheFirstSlot) {
  on_new_thread([] {
    parallel_for(100, 1, 2, [](int64_t, int64_t) {
      parallel_for_slots(100, 1, 2, [](int slot, int64_t begin, int64_t end) {
        EXPECT_EQ(slot, 0);
        EXPECT_EQ(end - begin, 100);
      });
    });
    parallel_for_slots(100, 1, 1, [](int slot, int64_t, int64_t) { EXPECT_EQ(slot, 0); });
  });
}

TEST(OpenMp, SharesMeetAtBarriers) {
  on_new_thread([] {
    const ThreadLimit limit(3);
    std::vector<int> steps(3, 0);
    std::atomic<int> wrong{0};
    for (int round = 0; round < 50; ++round) {
      std::fill(steps.begin(), steps.end(), 0);
      open_region(3, [&] {
        int& mine = steps[static_cast<std::size_t>(omp_get_thread_num())];
        for (int step = 1; step <= 10; ++step) {
          mine = step;
          GOMP_barrier();
          if (std::accumulate(steps.begin(), steps.end(), 0) != 3 * step) ++wrong;
          GOMP_barrier();
        }
      });
    }
    EXPECT_EQ(wrong, 0);
  });
}

// A program's definitions precede libgomp's only if the linker included them.
TEST(OpenMp, ProductsOfOneDnnRunOnTheTeam) {
  on_new_thread([] {
    constexpr int64_t kSide = 256;
    const std::vector<float> a(kSide * kSide, 1), b(kSide * kSide, 2);
    std::vector<float> c(kSide * kSide);
    const ThreadLimit limit(2);
    dnnl_sgemm('N', 'N', kSide, kSide, kSide, 1, a.data(), kSide, b.data(), kSide, 0, c.data(),
               kSide);
    EXPECT_EQ(c, std::vector<float>(c.size(), 2 * kSide));
    EXPECT_EQ(Team::of_this_thread().threads(), 2);
  });
}

TEST(OpenMp, FineSharesAreMoreThanThreads) {
  on_new_thread([] {
    const ThreadLimit limit(2);
    std::atomic<int> runs{0};
    const auto region = [&] { ++runs; };
    {
      const FineShares fine;
      EXPECT_EQ(omp_get_max_threads(), 16);
      EXPECT_EQ(threads_of_this_thread(), 2);
      open_region(0, region);
      EXPECT_EQ(runs, 16);
      open_region(16, region);
      EXPECT_EQ(runs, 32);
    }
    EXPECT_EQ(omp_get_max_threads(), 2);
    EXPECT_EQ(Team::of_this_thread().threads(), 2);
    const ThreadLimit one(1);
    const FineShares fine;
    EXPECT_EQ(omp_get_max_threads(), 1);
  });
}

TEST(OpenMp, ThreadsWithoutALimitStayWithLibgomp) {
  on_new_thread([] {
    { const ThreadLimit limit(2); }
    const FineShares fine;
    std::atomic<int> inside{0};
    open_region(2, [&] { inside += omp_in_parallel() == 1 && place_in_team().inside() ? 1 : 0; });
    EXPECT_EQ(inside, 0);
    EXPECT_EQ(Team::of_this_thread().threads(), 1);
  });
}

}  // namespace
}  // namespace lockstep::testing
