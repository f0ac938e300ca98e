// SPDX-License-Identifier: Apache-2.0
// Ranks whose clocks are wrong agree on the time.
#include "runtime/dist/common_clock.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cmath>
#include <thread>

#include "runtime/dist/store.h"
#include "runtime/nanoseconds.h"
#include "tests/support/ranks.h"

namespace lockstep::testing {
namespace {

constexpr int64_t kMillisecond = 1'000'000;

// A clock that is `ahead` at time `since`, and runs too fast by `ppm`.
struct WrongClock {
  int64_t ahead = 0;
  double ppm = 0;
  int64_t since = nanoseconds_now();

  int64_t at(int64_t time) const {
    return time + ahead + std::llround(static_cast<double>(time - since) * ppm * 1e-6);
  }
};

// The clocks are compared at both ends of a second. Meanwhile `true_time` is known, because all
// ranks of the test run on one host.
void expect_one_clock(const std::string& store) {
  const std::array<WrongClock, 3> clocks{
      {{7 * kMillisecond, 0}, {3000 * kMillisecond, 50}, {-40 * kMillisecond, -50}}};
  run_ranks(
      3,
      [&](Comm& comm) {
        const WrongClock& mine = clocks.at(static_cast<std::size_t>(comm.rank()));
        const LocalClock clock = [&] { return mine.at(nanoseconds_now()); };
        const ClockPoint first = compare_clocks(comm, clock);
        std::this_thread::sleep_for(std::chrono::milliseconds(500));
        const int64_t true_time = nanoseconds_now();
        std::this_thread::sleep_for(std::chrono::milliseconds(500));
        const CommonClock common(first, compare_clocks(comm, clock));
        // Without a process that keeps the store, rank 0's clock is the common clock.
        const int64_t expected = comm.store().now() ? true_time : clocks[0].at(true_time);
        const int64_t off = std::abs(common.common(mine.at(true_time)) - expected);
        SCOPED_TRACE(join("rank ", comm.rank(), ", stated error ", common.error(), " ns"));
        EXPECT_LE(off, common.error());
        EXPECT_LE(off, kMillisecond / 5);
        EXPECT_NEAR(common.drift_ppm(), -mine.ppm, common.drift_error_ppm() + 0.01);
        EXPECT_LT(common.drift_error_ppm(), 1000);
      },
      Milliseconds(60'000), store);
}

TEST(CommonClock, OfRanksThatMeetAtAPort) { expect_one_clock(tcp_store_here()); }
TEST(CommonClock, OfRanksThatMeetInAFolder) { expect_one_clock(""); }

// A folder on a slow file system.
class SlowStore final : public Store {
 public:
  explicit SlowStore(Store& store) : store_(store) {}
  void set(const std::string& key, const std::string& value) override {
    delay();
    store_.set(key, value);
  }
  bool add(const std::string& key, const std::string& value) override {
    delay();
    return store_.add(key, value);
  }
  std::optional<std::string> get(const std::string& key) override {
    delay();
    return store_.get(key);
  }

 private:
  static void delay() { std::this_thread::sleep_for(std::chrono::milliseconds(10)); }
  Store& store_;
};

// The same ranks as `comm`, with that store.
class SlowFolder final : public Comm {
 public:
  explicit SlowFolder(Comm& comm) : comm_(comm), store_(comm.store()) {}
  int rank() const override { return comm_.rank(); }
  int size() const override { return comm_.size(); }
  int size_here() const override { return comm_.size_here(); }
  Transfer& sending(int peer, uint64_t number, const std::string& what) override {
    return comm_.sending(peer, number, what);
  }
  Transfer& receiving(int peer, uint64_t number, const std::string& what) override {
    return comm_.receiving(peer, number, what);
  }
  void at_step(uint64_t step) override { comm_.at_step(step); }
  void wait_until(const std::function<bool()>& done, const std::string& what) override {
    comm_.wait_until(done, what);
  }
  void record_messages(std::vector<MessageSpan>* into) override { comm_.record_messages(into); }
  Store& store() override { return store_; }
  void give_up(const std::string& why) override { comm_.give_up(why); }

 private:
  Comm& comm_;
  SlowStore store_;
};

TEST(CommonClock, OfRanksInASlowFolderIsNoWorse) {
  run_ranks(3, [](Comm& fast) {
    SlowFolder comm(fast);
    const WrongClock mine{comm.rank() * 500 * kMillisecond, 0};
    const LocalClock clock = [&] { return mine.at(nanoseconds_now()); };
    for (int time = 0; time < 3; ++time) {
      const ClockPoint point = compare_clocks(comm, clock);
      const int64_t off = std::abs(point.offset + mine.ahead);  // all ranks run on one host
      EXPECT_LE(off, point.error);
      EXPECT_LE(point.error, 4 * kMillisecond) << "a look into the folder takes 10 ms";
    }
  });
}

TEST(CommonClock, OfASingleProcessIsItsOwn) {
  const CommonClock clock;
  EXPECT_EQ(clock.common(12345), 12345);
  EXPECT_EQ(clock.error(), 0);
  EXPECT_EQ(clock.drift_ppm(), 0);
}

// Between the comparisons the offset grows evenly; the errors do not add up.
TEST(CommonClock, GoesStraightFromOneComparisonToTheOther) {
  const CommonClock clock({.here = 1000, .offset = 50, .error = 3},
                          {.here = 3000, .offset = 70, .error = 5});
  EXPECT_EQ(clock.common(1000), 1050);
  EXPECT_EQ(clock.common(2000), 2060);
  EXPECT_EQ(clock.common(3000), 3070);
  EXPECT_EQ(clock.error(), 5);
  EXPECT_NEAR(clock.drift_ppm(), 1e4, 1e-6);
}

}  // namespace
}  // namespace lockstep::testing
