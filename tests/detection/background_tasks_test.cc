// SPDX-License-Identifier: Apache-2.0
#include "app/detection/shapes/background_tasks.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>

#include "lockstep/error.h"
#include "tests/support/expect_error.h"

namespace lockstep::testing {
namespace {

TEST(BackgroundTasks, AllEndBeforeWaitReturns) {
  for (const int threads : {0, 1, 5}) {
    BackgroundTasks tasks(threads);
    tasks.wait();
    std::vector<int> done(200);
    for (std::size_t i = 0; i < done.size(); ++i)
      tasks.add([&done, i] { done[i] = static_cast<int>(i) + 1; });
    tasks.wait();
    for (std::size_t i = 0; i < done.size(); ++i) EXPECT_EQ(done[i], static_cast<int>(i) + 1);
    tasks.add([&] { done[0] = 0; });  // after wait()
    tasks.wait();
    EXPECT_EQ(done[0], 0);
  }
}

// The first error in the order of add(), even if another task fails earlier.
TEST(BackgroundTasks, RethrowTheFirstError) {
  for (int round = 0; round < 20; ++round) {
    BackgroundTasks tasks(3);
    std::atomic<bool> other_failed{false};
    tasks.add([&] {
      while (!other_failed) std::this_thread::yield();
      fail("task 0");
    });
    tasks.add([&] {
      other_failed = true;
      fail("task 1");
    });
    tasks.add([] {});
    expect_error([&] { tasks.wait(); }, "task 0");
    std::atomic<int> done{0};
    tasks.add([&] { ++done; });
    tasks.wait();
    EXPECT_EQ(done, 1) << "after an error";
  }
}

TEST(BackgroundTasks, StopAtAnError) {
  BackgroundTasks tasks(2);
  std::atomic<int64_t> begun{0};
  expect_error(
      [&] {
        for (int64_t i = 0; i < 1'000'000; ++i)
          tasks.add([&begun, i] {
            ++begun;
            check(i != 3, "task ", i);
          });
      },
      "task 3");
  EXPECT_LT(begun, 1'000'000);
  tasks.wait();
}

// Tasks hold memory, so that only a few wait.
TEST(BackgroundTasks, LetTheCallerWait) {
  BackgroundTasks tasks(1);
  std::atomic<int> waiting{0}, most{0};
  for (int i = 0; i < 60; ++i) {
    most = std::max(most.load(), ++waiting);
    tasks.add([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      --waiting;
    });
  }
  tasks.wait();
  EXPECT_EQ(waiting, 0);
  EXPECT_LT(most, 12);
}

TEST(BackgroundTasks, AreDroppedWithTheirOwner) {
  std::atomic<int> begun{0};
  {
    BackgroundTasks tasks(1);
    for (int i = 0; i < 4; ++i)
      tasks.add([&] {
        ++begun;
        std::this_thread::sleep_for(std::chrono::milliseconds(300));
      });
  }
  EXPECT_LT(begun, 4);
}

}  // namespace
}  // namespace lockstep::testing
