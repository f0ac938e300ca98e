// When OpenMP's threads stop spinning for long. Times are given, none is measured.
#include "runtime/exec/short_waits.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <thread>

#include "tests/support/threads.h"

namespace lockstep::testing {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

int threads_of_this_process() {
  int count = 0;
  for ([[maybe_unused]] const auto& thread : std::filesystem::directory_iterator("/proc/self/task"))
    ++count;
  return count;
}

// Whether it becomes true within a minute.
bool comes(const std::function<bool()>& true_now) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!true_now()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

// Hands over looks of a second each, in which the threads waited that share of their time.
template <class Judge>
struct Looks {
  Judge& judge;
  SharedCores::Time now{};
  CoreTimes times{};

  auto add(int percent_waited) {
    now += std::chrono::seconds(1);
    times.ran += kSecond * (100 - percent_waited) / 100;
    times.waited += kSecond * percent_waited / 100;
    return judge.look(now, times);
  }
};

TEST(SharedCores, WaitsOfATwentiethShowOthers) {
  SharedCores cores;
  Looks<SharedCores> looks{cores};
  EXPECT_FALSE(looks.add(90));  // what was before the first look does not count
  EXPECT_FALSE(looks.add(0));
  EXPECT_FALSE(looks.add(4));
  EXPECT_TRUE(looks.add(5));
}

TEST(SharedCores, FiveQuietLooksInARowEndIt) {
  SharedCores cores;
  Looks<SharedCores> looks{cores};
  looks.add(0);
  EXPECT_TRUE(looks.add(30));
  for (int look = 0; look < 4; ++look) EXPECT_TRUE(looks.add(2));
  EXPECT_TRUE(looks.add(3));  // begins again
  for (int look = 0; look < 4; ++look) EXPECT_TRUE(looks.add(2));
  EXPECT_FALSE(looks.add(2));
  EXPECT_FALSE(looks.add(4));
  EXPECT_TRUE(looks.add(5));
}

TEST(SharedCores, AThreadThatEndsSaysNothing) {
  SharedCores cores;
  Looks<SharedCores> looks{cores};
  looks.add(0);
  looks.times = {};
  EXPECT_FALSE(looks.add(50));
  EXPECT_FALSE(looks.add(0));
  EXPECT_TRUE(looks.add(50));
}

TEST(SharedCores, LittleTimeIsAddedUp) {
  SharedCores cores;
  const SharedCores::Time now{};
  EXPECT_FALSE(cores.look(now, {0, 0}));
  EXPECT_FALSE(cores.look(now, {3'000'000, 3'000'000}));
  EXPECT_TRUE(cores.look(now, {6'000'000, 6'000'000}));
}

TEST(SharedCores, LooksAreATenthOfASecondApart) {
  SharedCores cores;
  const SharedCores::Time now = SharedCores::Time{} + std::chrono::hours(1);
  EXPECT_TRUE(cores.due(now));
  cores.look(now, {});
  EXPECT_FALSE(cores.due(now + std::chrono::milliseconds(99)));
  EXPECT_TRUE(cores.due(now + std::chrono::milliseconds(100)));
}

TEST(CoreClock, ThreadsThatRanHaveTime) {
  CoreClock clock;
  const auto before = clock.read();
  if (!before) GTEST_SKIP() << "this kernel does not count how long threads wait for a core";
  EXPECT_GT(before->ran, 0);
  EXPECT_GE(clock.read()->ran, before->ran);
}

class ShortWaitsTest : public ::testing::Test {
 protected:
  ShortWaitsTest() {
    unsetenv("OMP_WAIT_POLICY");
    unsetenv("GOMP_SPINCOUNT");
  }
  ~ShortWaitsTest() override {
    unsetenv("GOMP_SPINCOUNT");
    setenv("OMP_WAIT_POLICY", "passive", 1);
  }
};

TEST_F(ShortWaitsTest, LastAsLongAsOthersUseTheCores) {
  if (kThreadSanitizer) GTEST_SKIP() << "libgomp's barriers look like races";
  const int before = threads_of_this_process();
  ShortWaits waits(1, 2);
  Looks<ShortWaits> looks{waits};
  looks.add(0);
  looks.add(1);
  EXPECT_FALSE(waits.on());
  EXPECT_EQ(threads_of_this_process(), before);
  looks.add(30);
  EXPECT_TRUE(waits.on());
  looks.add(30);
  EXPECT_TRUE(comes([&] { return threads_of_this_process() > before; }));
  for (int look = 0; look < 5; ++look) looks.add(0);
  EXPECT_FALSE(waits.on());
  EXPECT_TRUE(comes([&] { return threads_of_this_process() <= before; }));
  looks.add(30);
  EXPECT_TRUE(waits.on());
}

TEST_F(ShortWaitsTest, AnOwnSettingIsLeftAlone) {
  for (const char* name : {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT"}) {
    setenv(name, "active", 1);
    ShortWaits waits(1, 2);
    unsetenv(name);
    Looks<ShortWaits> looks{waits};
    looks.add(0);
    looks.add(30);
    EXPECT_FALSE(waits.on()) << name;
  }
}

TEST_F(ShortWaitsTest, TeamsOfOneThreadHaveNone) {
  ShortWaits waits(2, 1);
  Looks<ShortWaits> looks{waits};
  looks.add(0);
  looks.add(30);
  EXPECT_FALSE(waits.on());
}

}  // namespace
}  // namespace lockstep::testing
