#include "data/dataset.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/support/expect_error.h"

namespace lockstep::testing {
namespace {

TEST(EpochOrder, EveryEpochIsAPermutation) {
  EpochOrder order(37, 5);
  std::vector<std::vector<int64_t>> epochs;
  for (int epoch = 0; epoch < 3; ++epoch) {
    std::vector<int64_t> seen;
    for (int64_t i = 0; i < 37; ++i) seen.push_back(order.at(epoch * 37 + i));
    EXPECT_EQ(std::set<int64_t>(seen.begin(), seen.end()).size(), 37u);
    epochs.push_back(seen);
  }
  EXPECT_NE(epochs[0], epochs[1]);
}

TEST(EpochOrder, CanBeEnteredAnywhere) {
  EpochOrder forwards(20, 5), elsewhere(20, 5);
  for (int64_t i = 0; i < 60; ++i) forwards.at(i);
  EXPECT_EQ(elsewhere.at(47), forwards.at(47));
  EXPECT_EQ(elsewhere.at(3), forwards.at(3));
}

TEST(Digits, TheSeedDecidesAndHeldOutIsOther) {
  auto pixels = [](uint64_t seed, bool held_out) {
    auto data = dataset_named({"digits", 50, seed, held_out});
    std::vector<float> all(50 * data->image_values());
    int64_t label = 0;
    for (int64_t i = 0; i < 50; ++i) data->read(i, all.data() + i * data->image_values(), &label);
    return all;
  };
  EXPECT_EQ(pixels(1, false), pixels(1, false));
  EXPECT_NE(pixels(1, false), pixels(2, false));
  EXPECT_NE(pixels(1, false), pixels(1, true));
}

TEST(Digits, HasAllClassesAndInk) {
  auto data = dataset_named({"digits", 500, 1, false});
  std::set<int64_t> seen;
  std::vector<float> image(data->image_values());
  for (int64_t i = 0; i < data->size(); ++i) {
    int64_t label = -1;
    data->read(i, image.data(), &label);
    seen.insert(label);
    int dark = 0;
    for (float value : image) dark += value > 1;
    EXPECT_GT(dark, 20) << "digit " << label << " at " << i;
    EXPECT_LT(dark, 400) << "digit " << label << " at " << i;
  }
  EXPECT_EQ(seen.size(), 10u);
}

TEST(Dataset, BadRequestsAreNamed) {
  expect_error([] { dataset_named({"mnist2", 10, 1, false}); }, "'mnist2'", "digits");
  expect_error([] { dataset_named({"digits", 0, 1, false}); }, "0 images");
}

}  // namespace
}  // namespace lockstep::testing
