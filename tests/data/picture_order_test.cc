// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "data/detection/picture_order.h"
#include "lockstep/random.h"
#include "tests/support/expect_error.h"

namespace lockstep::testing {
namespace {

std::vector<int32_t> groups_of(std::size_t count, int64_t groups) {
  PhiloxSequence random(3, 1);
  std::vector<int32_t> result;
  for (std::size_t i = 0; i < count; ++i)
    result.push_back(static_cast<int32_t>(random.below(groups)));
  return result;
}

// After any number of steps all pictures were used equally often, except for pictures that wait.
TEST(PictureOrder, TakesEveryPictureOnceInAnEpoch) {
  for (const bool mirrored : {false, true})
    for (const int64_t batch : {1, 4, 7, 50}) {
      SCOPED_TRACE(batch);
      const std::vector<int32_t> groups = groups_of(40, 3);
      const PictureOrder order(groups, {batch, mirrored, 5});
      const int64_t entries = mirrored ? 80 : 40, epochs = 9;
      std::map<std::pair<int32_t, bool>, int64_t> times;
      int64_t taken = 0;
      for (int64_t step = 0; step < order.first_step_of(epochs); ++step) {
        const PictureOrder::Step here = order.step(step);
        ASSERT_EQ(static_cast<int64_t>(here.pictures.size()), batch);
        for (const OrderedPicture& each : here.pictures) {
          EXPECT_EQ(groups[static_cast<std::size_t>(each.picture)], here.group);
          ++times[{each.picture, each.mirrored}];
          ++taken;
        }
      }
      EXPECT_GT(taken, epochs * entries - 3 * batch);
      for (const auto& [entry, count] : times) {
        EXPECT_LE(count, epochs);
        EXPECT_GE(count, epochs - (batch + 11) / 12);  // a group has more than 12 entries
      }
    }
}

TEST(PictureOrder, WhatIsLeftOverComesFirst) {
  const PictureOrder order({0, 0, 0, 0, 0}, {2, false, 1});
  EXPECT_EQ(order.first_step_of(1), 2);
  std::vector<int32_t> first_five;
  for (int64_t step = 0; step < 3; ++step)
    for (const OrderedPicture& each : order.step(step).pictures) first_five.push_back(each.picture);
  first_five.pop_back();  // of the second epoch
  std::sort(first_five.begin(), first_five.end());
  EXPECT_EQ(first_five, (std::vector<int32_t>{0, 1, 2, 3, 4}));
}

TEST(PictureOrder, AnyStepIsReachedDirectly) {
  const std::vector<int32_t> groups = groups_of(30, 2);
  const PictureOrder in_turn(groups, {4, true, 9});
  std::vector<PictureOrder::Step> steps;
  for (int64_t step = 0; step < 200; ++step) steps.push_back(in_turn.step(step));
  for (int64_t step : {199, 57, 0, 121, 120, 14, 15}) {
    const PictureOrder other(groups, {4, true, 9});
    EXPECT_EQ(other.step(step).pictures, steps[static_cast<std::size_t>(step)].pictures) << step;
    EXPECT_EQ(in_turn.step(step).group, steps[static_cast<std::size_t>(step)].group);
  }
  EXPECT_NE(PictureOrder(groups, {4, true, 8}).step(3).pictures, steps[3].pictures);
  EXPECT_GE(in_turn.epoch_of(int64_t{1} << 40), int64_t{1} << 35);
}

TEST(PictureOrder, NothingToTakeIsAnError) {
  expect_error([] { PictureOrder({}, {}); }, "there is no picture to train on");
  expect_error([] { PictureOrder({0}, {.batch = 0}); },
               "a step has 0 pictures, should have at least 1");
}

}  // namespace
}  // namespace lockstep::testing
