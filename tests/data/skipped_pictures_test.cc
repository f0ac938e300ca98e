// SPDX-License-Identifier: Apache-2.0
// Unreadable pictures: the pictures that replace them, and the messages about them.
#include "data/skipped_pictures.h"

#include <gtest/gtest.h>

#include <set>

#include "data/labelled_images.h"
#include "graph/limits.h"
#include "lockstep/loader.h"
#include "tests/support/expect_error.h"

namespace lockstep::testing {
namespace {

// An image's values are the number of its draw, and its label is its index.
class SomeBad final : public Dataset {
 public:
  SomeBad(int64_t size, std::set<int64_t> bad)
      : Dataset({1, 1, 1, 1}), size_(size), bad_(std::move(bad)) {}
  int64_t size() const override { return size_; }
  int64_t classes() const override { return size_; }
  void read(int64_t index, uint64_t draw, float* image, int64_t* label) const override {
    if (index == out_of_memory) throw NoMemory("no memory");
    *image = -1;
    check(bad_.count(index) == 0, "image ", index, " is bad");
    *image = static_cast<float>(draw);
    *label = index;
  }
  bool is_bad(int64_t index) const { return bad_.count(index) > 0; }
  int64_t out_of_memory = -1;

 private:
  int64_t size_;
  std::set<int64_t> bad_;
};

constexpr int64_t kRowsOfStep = 6;
constexpr uint64_t kSeedOfOrder = 4;

LabelledImagesOptions with_stand_ins(int64_t first = 0, int64_t count = -1) {
  return {.batch = kRowsOfStep,
          .first = first,
          .count = count,
          .seed = kSeedOfOrder,
          .in_place_of_bad = InPlaceOfBad::another};
}

// The label and draw of each row.
using Rows = std::vector<std::pair<int64_t, int64_t>>;
void append_rows(Loader& loader, int64_t step, Rows& rows) {
  const std::span<const Tensor> batch = loader.get(step);
  for (int64_t i = 0; i < batch[1].count(); ++i)
    rows.emplace_back(batch[1].as<int64_t>()[i], static_cast<int64_t>(batch[0].as<float>()[i]));
}

// The rule of docs/bring_your_own.md, implemented independently.
Rows expected_rows(const SomeBad& data, int64_t step) {
  const EpochOrder order(data.size(), kSeedOfOrder);
  Rows rows;
  for (int64_t row = 0; row < kRowsOfStep; ++row)
    for (int64_t tries = 0;; ++tries) {
      const int64_t in_step = (row + tries) % kRowsOfStep, later = tries / kRowsOfStep;
      const int64_t image = order.at((step + later) * kRowsOfStep + in_step);
      if (data.is_bad(image)) continue;
      rows.emplace_back(image, step * kRowsOfStep + row);
      break;
    }
  return rows;
}

TEST(SkippedPictures, TheNextGoodOneOfTheStepStandsIn) {
  for (const std::set<int64_t>& bad : {std::set<int64_t>{3}, {0, 1, 2, 5, 7, 8, 11, 13}}) {
    const SomeBad data(14, bad);
    Rows expected;
    for (int64_t step = 0; step < 9; ++step)
      for (const auto& row : expected_rows(data, step)) expected.push_back(row);
    for (const int threads : {1, 4}) {
      const LabelledImages source(data, with_stand_ins());
      Loader loader(source, threads);
      Rows rows;
      for (int64_t step = 0; step < 9; ++step) append_rows(loader, step, rows);
      EXPECT_EQ(rows, expected) << threads << " threads";
    }
  }
}

// A resumed run enters the order at any step, and several processes share a step.
TEST(SkippedPictures, AStepIsTheSameEnteredAnywhereAndSharedByProcesses) {
  const SomeBad data(14, {0, 1, 2, 5, 7, 8, 11, 13});
  for (const int64_t step : {7, 2}) {
    const LabelledImages first(data, with_stand_ins(0, 2)), second(data, with_stand_ins(2, 4));
    Loader of_first(first, 2), of_second(second, 2);
    Rows rows;
    append_rows(of_first, step, rows);
    append_rows(of_second, step, rows);
    EXPECT_EQ(rows, expected_rows(data, step));
  }
}

TEST(SkippedPictures, AreToldByStepsHoweverFarIsReadAhead) {
  const SomeBad data(8, {3, 6});
  const EpochOrder order(8, kSeedOfOrder);
  for (const int threads : {1, 5}) {
    const LabelledImages source(data, with_stand_ins());
    Loader loader(source, threads);
    for (int64_t step = 0; step < 12; ++step) {
      loader.get(step);
      if (step % 3 == 1) loader.get(step - 1);  // reads both again
      loader.get(step);
      int64_t rows = 0;
      for (int64_t at = step * kRowsOfStep; at < (step + 1) * kRowsOfStep; ++at)
        rows += data.is_bad(order.at(at));
      const SkippedPictures::Told told = source.skipped().take(step);
      EXPECT_EQ(told.rows, rows) << "step " << step;
      EXPECT_EQ(told.pictures.empty(), rows == 0);
      for (const std::string& why : told.pictures)
        EXPECT_TRUE(why == "image 3 is bad" || why == "image 6 is bad") << why;
    }
  }
}

TEST(SkippedPictures, WithoutAGoodOneTheErrorSaysSo) {
  const SomeBad all(3, {0, 1, 2});
  const LabelledImages none(all, with_stand_ins());
  expect_error([&] { Loader(none, 2).get(0); },
               "none of the 3 pictures that may be used here can be read",
               "The last error: ", "is bad");
  const SomeBad one(9, {4});
  LabelledImagesOptions strict = with_stand_ins();
  strict.in_place_of_bad = InPlaceOfBad::nothing_and_stop;
  const LabelledImages stops(one, strict);
  const auto read_epoch = [](const LabelledImages& source) {
    Loader loader(source, 2);
    for (int64_t step = 0; step < 2; ++step) loader.get(step);
  };
  expect_error([&] { read_epoch(stops); }, "image 4 is bad",
               "TRAIN.SKIP_BAD_IMAGES true goes on without");
}

// Running out of memory is not the file's fault. A later attempt may succeed, so a skip would make
// the run irreproducible.
TEST(SkippedPictures, AWantOfMemoryIsNotSkipped) {
  SomeBad data(9, {4});
  data.out_of_memory = 2;
  for (const InPlaceOfBad instead : {InPlaceOfBad::another, InPlaceOfBad::nothing}) {
    LabelledImagesOptions options = with_stand_ins();
    options.in_place_of_bad = instead;
    const LabelledImages source(data, options);
    expect_error(
        [&] {
          Loader loader(source, 2);
          for (int64_t step = 0; step < 2; ++step) loader.get(step);
        },
        "no memory");
  }
}

TEST(SkippedPictures, AHeldOutOneLeavesARowWithoutALabel) {
  const SomeBad data(8, {3, 6});
  const LabelledImages source(
      data, {.batch = 4, .shuffle = false, .in_place_of_bad = InPlaceOfBad::nothing});
  for (int test = 0; test < 2; ++test) {
    source.skipped().begin_again();
    Loader loader(source, 3);
    Rows rows;
    for (int64_t step = 0; step < 2; ++step) append_rows(loader, step, rows);
    EXPECT_EQ(rows, (Rows{{0, 0}, {1, 1}, {2, 2}, {-1, 0}, {4, 4}, {5, 5}, {-1, 0}, {7, 7}}));
    const SkippedPictures::Told told = source.skipped().take(1);
    EXPECT_EQ(told.rows, 2);
    EXPECT_EQ(told.pictures, (std::vector<std::string>{"image 3 is bad", "image 6 is bad"}));
  }
}

}  // namespace
}  // namespace lockstep::testing
