// SPDX-License-Identifier: Apache-2.0
// Subnormal results of kernels are 0, on every thread of a team, not on the caller's thread.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "runtime/exec/workers.h"
#include "runtime/threads/float_mode.h"
#include "runtime/threads/team.h"

namespace lockstep::testing {
namespace {

constexpr float kSubnormal = 3e-39F;

// True if the calling thread computes with subnormal numbers.
bool computes_with_them() {
  volatile float number = kSubnormal;
  return number * 0.5F > 0;
}

TEST(Subnormals, AreZeroInTheWorkOfWorkersOnly) {
  for (const int count : {1, 2}) {
    Workers workers(count, 1);
    std::vector<int> seen(static_cast<std::size_t>(count), -1);
    const auto look = [](void* data, int worker) {
      (*static_cast<std::vector<int>*>(data))[static_cast<std::size_t>(worker)] =
          computes_with_them();
    };
    workers.run(look, &seen);
    EXPECT_EQ(std::ranges::count(seen, 0), count);
    EXPECT_TRUE(computes_with_them());
  }
}

TEST(Subnormals, AreTreatedByATeamAsByItsOwner) {
  constexpr int kThreads = 3;
  Team team;
  team.grow(kThreads);
  struct Seen {
    std::vector<int> by_share = std::vector<int>(64, -1);
  };
  const auto look = [](void* data, int share, int /*shares*/) {
    static_cast<Seen*>(data)->by_share[static_cast<std::size_t>(share)] = computes_with_them();
  };
  for (int round = 0; round < 50; ++round) {
    Seen plain, flushed;
    team.run(64, kThreads, look, &plain);
    EXPECT_EQ(std::ranges::count(plain.by_share, 1), 64);
    const FlushSubnormals flush;
    team.run(64, kThreads, look, &flushed);
    EXPECT_EQ(std::ranges::count(flushed.by_share, 0), 64);
  }
}

}  // namespace
}  // namespace lockstep::testing
