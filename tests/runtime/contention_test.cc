// SPDX-License-Identifier: Apache-2.0
// The times at which a session behaves as beside other programs. Times are given, not measured.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <latch>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "runtime/threads/contention.h"
#include "runtime/threads/cores.h"

namespace lockstep::testing {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

int threads_of_this_process() {
  int count = 0;
  for ([[maybe_unused]] const auto& thread : std::filesystem::directory_iterator("/proc/self/task"))
    ++count;
  return count;
}

// Passes samples of one second each, in which threads waited this fraction of their time.
template <class Judge>
struct Looks {
  Judge& judge;
  ContentionDetector::Time now{};
  CoreTimes times{};

  auto add(int percent_waited) {
    now += std::chrono::seconds(1);
    times.ran += kSecond * (100 - percent_waited) / 100;
    times.waited += kSecond * percent_waited / 100;
    return judge.look(now, times);
  }
};

TEST(ContentionDetector, WaitsOfATwentiethShowOthers) {
  ContentionDetector cores;
  Looks<ContentionDetector> looks{cores};
  EXPECT_FALSE(looks.add(90));  // the time before the first sample does not count
  EXPECT_FALSE(looks.add(0));
  EXPECT_FALSE(looks.add(4));
  EXPECT_TRUE(looks.add(5));
}

TEST(ContentionDetector, FiveQuietLooksInARowEndIt) {
  ContentionDetector cores;
  Looks<ContentionDetector> looks{cores};
  looks.add(0);
  EXPECT_TRUE(looks.add(30));
  for (int look = 0; look < 4; ++look) EXPECT_TRUE(looks.add(2));
  EXPECT_TRUE(looks.add(3));  // starts over
  for (int look = 0; look < 4; ++look) EXPECT_TRUE(looks.add(2));
  EXPECT_FALSE(looks.add(2));
  EXPECT_FALSE(looks.add(4));
  EXPECT_TRUE(looks.add(5));
}

TEST(ContentionDetector, AThreadThatEndsSaysNothing) {
  ContentionDetector cores;
  Looks<ContentionDetector> looks{cores};
  looks.add(0);
  looks.times = {};
  EXPECT_FALSE(looks.add(50));
  EXPECT_FALSE(looks.add(0));
  EXPECT_TRUE(looks.add(50));
}

TEST(ContentionDetector, LittleTimeIsAddedUp) {
  ContentionDetector cores;
  const ContentionDetector::Time now{};
  EXPECT_FALSE(cores.look(now, {0, 0}));
  EXPECT_FALSE(cores.look(now, {3'000'000, 3'000'000}));
  EXPECT_TRUE(cores.look(now, {6'000'000, 6'000'000}));
}

TEST(ContentionDetector, LooksAreATenthOfASecondApart) {
  ContentionDetector cores;
  const ContentionDetector::Time now = ContentionDetector::Time{} + std::chrono::hours(1);
  EXPECT_TRUE(cores.due(now));
  cores.look(now, {});
  EXPECT_FALSE(cores.due(now + std::chrono::milliseconds(99)));
  EXPECT_TRUE(cores.due(now + std::chrono::milliseconds(100)));
}

constexpr int64_t kWork = 50'000'000;  // nanoseconds

void work() {
  const std::clock_t start = std::clock();
  while (std::clock() - start < CLOCKS_PER_SEC / 20) {
  }
}

TEST(CoreClock, ThreadsThatRanHaveTime) {
  CoreClock clock;
  const auto before = clock.read();
  if (!before) GTEST_SKIP() << "this kernel does not count how long threads wait for a core";
  EXPECT_GT(before->ran, 0);
  EXPECT_GE(clock.read()->ran, before->ran);

  // Later threads are found as well, until they end, although files stay open between reads.
  for (const int threads : {1, 20, 2}) {
    std::vector<pid_t> begun(static_cast<std::size_t>(threads));
    const int64_t alone = clock.read()->ran;
    std::latch worked(threads), seen(1);
    {
      std::vector<std::jthread> others;
      for (int i = 0; i < threads; ++i)
        others.emplace_back(
            [&, works = i == threads - 1, &mine = begun[static_cast<std::size_t>(i)]] {
              mine = gettid();
              if (works) work();
              worked.count_down();
              seen.wait();
            });
      worked.wait();
      for (int time = 0; time < 2; ++time) EXPECT_GE(clock.read()->ran, alone + kWork / 2);
      seen.count_down();
    }
    for (const pid_t thread : begun)  // some are still listed after the join
      while (std::filesystem::exists("/proc/self/task/" + std::to_string(thread))) {
      }
    EXPECT_LT(clock.read()->ran, alone + kWork / 2) << threads;
  }
}

// A sample that could not open all files is discarded.
TEST(CoreClock, FindsThreadsThatItCouldNotReadBefore) {
  CoreClock clock;
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const int next = dup(0);
  ASSERT_GE(next, 0);
  close(next);
  rlimit one_more = before;
  one_more.rlim_cur = static_cast<rlim_t>(next) + 1;
  std::latch seen(1), compared(1), worked(1);
  std::jthread other([&] {
    seen.wait();
    work();
    worked.count_down();
    compared.wait();
  });
  EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &one_more), 0);
  clock.read();
  EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  seen.count_down();
  worked.wait();
  const auto now = clock.read(), anew = CoreClock().read();
  compared.count_down();
  ASSERT_EQ(now.has_value(), anew.has_value());
  if (now) {
    EXPECT_NEAR(static_cast<double>(now->ran), static_cast<double>(anew->ran), 10e6);
  }
}

class NeighboursTest : public ::testing::Test {
 protected:
  NeighboursTest() {
    unsetenv("OMP_WAIT_POLICY");
    unsetenv("GOMP_SPINCOUNT");
  }
  ~NeighboursTest() override {
    unsetenv("GOMP_SPINCOUNT");
    setenv("OMP_WAIT_POLICY", "passive", 1);
  }
};

// On one core, waits of two threads are always short. No threads are pinned for them.
TEST_F(NeighboursTest, AreThereAsLongAsOthersUseTheCores) {
  const bool one_core = cpu_cores() == 1;
  const int before = threads_of_this_process();
  Contention contention(1, 2);
  Looks<Contention> looks{contention};
  looks.add(0);
  looks.add(1);
  EXPECT_FALSE(contention.there());
  EXPECT_EQ(contention.wait_policy_of(0).short_waits, one_core);
  EXPECT_EQ(threads_of_this_process(), before);
  looks.add(30);
  EXPECT_TRUE(contention.there());
  EXPECT_TRUE(contention.wait_policy_of(0).short_waits);
  looks.add(30);
  EXPECT_EQ(threads_of_this_process(), before);
  for (int look = 0; look < 5; ++look) looks.add(0);
  EXPECT_FALSE(contention.there());
  EXPECT_EQ(contention.wait_policy_of(0).short_waits, one_core);
  EXPECT_EQ(threads_of_this_process(), before);
  looks.add(30);
  EXPECT_TRUE(contention.there());
}

// Each thread gets a core of all teams' cores if the threads need all cores.
TEST_F(NeighboursTest, EachThreadGetsACoreIfTheyNeedAll) {
  const int cores = cpu_cores();
  if (cores < 2) GTEST_SKIP() << "this machine has one core";
  const auto cores_of = [&](int teams, int threads) {
    Contention contention(teams, threads);
    Looks<Contention> looks{contention};
    looks.add(0);
    EXPECT_TRUE(contention.wait_policy_of(0).cores.empty());
    looks.add(30);
    std::vector<int> all;
    for (int team = 0; team < teams; ++team) {
      const std::span<const int> of_team = contention.wait_policy_of(team).cores;
      all.insert(all.end(), of_team.begin(), of_team.end());
    }
    return all;
  };
  const std::vector<int> all = cores_of(1, cores);
  EXPECT_EQ(static_cast<int>(std::set<int>(all.begin(), all.end()).size()), cores);
  EXPECT_EQ(cores_of(1, cores + 1), std::vector<int>{});
  EXPECT_EQ(cores_of(2, cores), std::vector<int>{});
  EXPECT_TRUE(Contention(1, cores + 1).wait_policy_of(0).short_waits);
  EXPECT_FALSE(Contention(1, cores).wait_policy_of(0).short_waits);
  if (cores % 2 == 0 && cores > 2) {
    EXPECT_EQ(cores_of(2, cores / 2), all);
  }
}

TEST_F(NeighboursTest, AnOwnSettingIsLeftAlone) {
  for (const char* name : {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT"}) {
    setenv(name, "active", 1);
    Contention contention(1, 2);
    unsetenv(name);
    Looks<Contention> looks{contention};
    looks.add(0);
    looks.add(30);
    EXPECT_FALSE(contention.there()) << name;
  }
}

TEST_F(NeighboursTest, MoreTeamsOfOneThreadThanCoresHaveNone) {
  Contention contention(cpu_cores() + 1, 1);
  Looks<Contention> looks{contention};
  looks.add(0);
  looks.add(30);
  EXPECT_FALSE(contention.there());
}

TEST_F(NeighboursTest, TeamsOfOneThreadThatLeaveACoreFreeHaveNone) {
  Contention contention(cpu_cores() - 1, 1);
  Looks<Contention> looks{contention};
  looks.add(0);
  looks.add(30);
  EXPECT_FALSE(contention.there());
}

// On a single core there is nothing to pin to.
TEST_F(NeighboursTest, AsManyTeamsOfOneThreadAsCoresKeepToThemWhileAlone) {
  const int cores = cpu_cores(), all_kept = cores > 1 ? cores : 0;
  Contention contention(cores, 1);
  Looks<Contention> looks{contention};
  const auto kept = [&] {
    std::set<int> all;
    for (int team = 0; team < cores; ++team)
      for (int core : contention.wait_policy_of(team).cores) all.insert(core);
    return static_cast<int>(all.size());
  };
  EXPECT_EQ(kept(), 0);
  looks.add(0);
  EXPECT_EQ(kept(), 0) << "the first sample has no result";
  looks.add(1);
  EXPECT_EQ(kept(), all_kept);
  EXPECT_TRUE(contention.wait_policy_of(cores).cores.empty()) << "the thread does not compute";
  looks.add(30);
  EXPECT_EQ(contention.there(), cores > 1);
  EXPECT_EQ(kept(), 0);
  for (int look = 0; look < 5; ++look) looks.add(0);
  EXPECT_EQ(kept(), all_kept);
}

}  // namespace
}  // namespace lockstep::testing
