// SPDX-License-Identifier: Apache-2.0
// The time for a cache line to move between two cores.
#include "tools/bench/cores_apart.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <thread>

namespace lockstep::testing {
namespace {

TEST(CoresApart, AreSomeNanosecondsFromEachOther) {
  cpu_set_t usable;
  ASSERT_EQ(sched_getaffinity(0, sizeof(usable), &usable), 0);
  const std::optional<double> seconds = seconds_between_cores();
  ASSERT_EQ(seconds.has_value(), CPU_COUNT(&usable) > 1);
  EXPECT_GT(seconds.value_or(1e-6), 1e-9);
  EXPECT_LT(seconds.value_or(1e-6), 1e-3);
  cpu_set_t after;
  ASSERT_EQ(sched_getaffinity(0, sizeof(after), &after), 0);
  EXPECT_TRUE(CPU_EQUAL(&usable, &after)) << "the caller keeps its set of cores";
}

TEST(CoresApart, AreNotMeasuredWithOneCore) {
  std::thread narrow([] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
    EXPECT_FALSE(seconds_between_cores());
  });
  narrow.join();
}

}  // namespace
}  // namespace lockstep::testing
