// SPDX-License-Identifier: Apache-2.0
#include "app/train/slowest_rank.h"

#include <gtest/gtest.h>

namespace lockstep::testing {
namespace {

// Times of 10 steps.
RankTimes times(double computing, double data, double waiting) {
  return {computing, data, waiting, 10};
}

TEST(SlowestRank, IsNamedWithItsReason) {
  // The second rank computes 30 % longer; the others wait for it.
  const Slowest slowest =
      slowest_rank({times(1.0, 0.01, 0.32), times(1.3, 0.01, 0.02), times(1.01, 0.01, 0.31)});
  EXPECT_EQ(slowest.rank, 1);
  EXPECT_EQ(slowest.text,
            "rank 1 is the slowest, because of its computation: 130.0 ms of a step against 100.0 "
            "ms of rank 0; all its own work takes 131.0 ms against 101.0 ms");
  EXPECT_EQ(slowest_rank({times(1, 0.3, 0), times(1, 0, 0.3)}).why, "its data");
  EXPECT_EQ(slowest_rank({times(1, 0.3, 0), times(1, 0, 0.3)}).rank, 0);
  // Ranks that do not wait for each other in every step.
  EXPECT_EQ(slowest_rank({times(1, 0, 0.1), times(1, 0, 0.5)}).why, "its waiting for messages");
  EXPECT_EQ(slowest_rank({times(1, 0, 0.1), times(1, 0, 0.5)}).rank, 1);
}

// The host cannot tell the computation of a GPU from the waits of its queues.
TEST(SlowestRank, OnGpusIsNamedInHostTime) {
  const auto on_gpu = [](RankTimes of) {
    of.on_queues = true;
    return of;
  };
  const Slowest slowest = slowest_rank({on_gpu(times(1.0, 0.01, 0)), on_gpu(times(1.3, 0.01, 0))});
  EXPECT_EQ(
      slowest.text,
      "rank 1 is the slowest, because of its steps, in host time and with their waits for "
      "other ranks: 130.0 ms of a step against 100.0 ms of rank 0; a step with its data takes "
      "131.0 ms against 101.0 ms");
  EXPECT_EQ(slowest_rank({on_gpu(times(1, 0.3, 0)), on_gpu(times(1, 0, 0))}).why, "its data");
  EXPECT_EQ(slowest_rank({times(1, 0, 0), on_gpu(times(1.2, 0, 0))}).why.find("its steps"), 0U);
  EXPECT_TRUE((on_gpu(times(2, 0, 0)).since(times(1, 0, 0))).on_queues);
}

TEST(SlowestRank, IsNobodyWithinATenth) {
  EXPECT_EQ(slowest_rank({times(1, 0, 0), times(1.09, 0, 0)}).rank, -1);
  EXPECT_EQ(slowest_rank({times(1, 0, 0)}).rank, -1);
  EXPECT_EQ(slowest_rank({}).rank, -1);
  EXPECT_EQ(slowest_rank({{}, {}}).rank, -1);
}

TEST(SlowestRank, TimesArriveAsTheyWereSent) {
  const RankTimes sent{1.25, 0.001, 3e-7, 42, true};
  const RankTimes read = rank_times_in(text_of(sent));
  EXPECT_DOUBLE_EQ(read.computing, sent.computing);
  EXPECT_DOUBLE_EQ(read.data, sent.data);
  EXPECT_DOUBLE_EQ(read.waiting, sent.waiting);
  EXPECT_EQ(read.steps, 42);
  EXPECT_TRUE(read.on_queues);
  EXPECT_FALSE(rank_times_in(text_of(times(1, 0, 0))).on_queues);
}

// The first window plans; short windows are summed up; a line is not repeated.
TEST(SlowestRank, IsSaidOnce) {
  SlowestRankWatch watch;
  const std::vector<RankTimes> slow{times(0.5, 0, 0.2), times(0.7, 0, 0)};
  const std::vector<RankTimes> turned{times(0.7, 0, 0), times(0.5, 0, 0.2)};
  EXPECT_EQ(watch.add(turned), "");
  EXPECT_EQ(watch.add(slow), "");
  EXPECT_NE(watch.add(slow).find("rank 1 is the slowest"), std::string::npos);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(watch.add(slow), "");
  std::string said;
  for (int i = 0; i < 4; ++i) said += watch.add(turned);
  EXPECT_NE(said.find("rank 0 is the slowest"), std::string::npos) << said;
}

}  // namespace
}  // namespace lockstep::testing
