// SPDX-License-Identifier: Apache-2.0
#include "app/train/gathered.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/support/ranks.h"

namespace lockstep::testing {
namespace {

using Numbers = std::vector<double>;

// Each rank has as many numbers as it likes; not one bit is lost, and a NaN stays one.
TEST(Gathered, NumbersOfAllRanksArriveExactly) {
  const Numbers first{1.0 / 3, -0.0, 1e-310, std::numeric_limits<double>::infinity()};
  const Numbers third{std::nan(""), 9007199254740993.0};
  EXPECT_EQ(gather_numbers(nullptr, first, "numbers"), std::vector<Numbers>{first});
  run_ranks(3, [&](Comm& comm) {
    const Numbers mine = comm.rank() == 0 ? first : comm.rank() == 1 ? Numbers{} : third;
    const auto all = gather_numbers(&comm, mine, "numbers");
    ASSERT_EQ(all.size(), comm.rank() > 0 ? 0U : 3U);
    if (comm.rank() > 0) return;
    EXPECT_EQ(all[0], first);
    EXPECT_TRUE(std::signbit(all[0][1]));
    EXPECT_TRUE(all[1].empty());
    ASSERT_EQ(all[2].size(), 2U);
    EXPECT_TRUE(std::isnan(all[2][0]));
    EXPECT_EQ(all[2][1], third[1]);
  });
}

}  // namespace
}  // namespace lockstep::testing
