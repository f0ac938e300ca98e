// SPDX-License-Identifier: Apache-2.0
// proposals.safetensors: reading returns the written proposals without the proposals that
// Detectron's rules drop.
#include "app/detection/datasets/proposal_file.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "graph/file.h"
#include "runtime/state/safetensors.h"
#include "tests/detection/detector_config_fixture.h"

namespace lockstep::testing {
namespace {

using Chosen = std::vector<Corners>;

// Images 7 and 3 of 100 x 60 pixels; the first has a crowd.
Annotations two_images() {
  Annotations table;
  table.path = "two.json";
  table.categories.push_back({1, "thing", {}, {}});
  table.images = {{7, "b.jpg", 60, 100}, {3, "a.jpg", 60, 100}};
  CocoObject crowd;
  crowd.bbox = {50, 0, 50, 60};
  crowd.area = 3000;
  crowd.crowd = true;
  table.objects = {crowd};
  table.first_object = {0, 1, 1};
  return table;
}

FoundBoxes ranked(const Chosen& boxes) {
  FoundBoxes found;
  for (const Corners& box : boxes)
    found.push_back({box, 1 - 0.125F * static_cast<float>(found.size()), 0});
  return found;
}

const ProposalRules kAll{.places = 100, .least_side = 0, .rounding = 0};

class ProposalFile : public ::testing::Test {
 protected:
  // A file with two boxes for one image and one box for the other. Tests change one field.
  struct Content {
    std::vector<float> boxes{1, 2, 31, 42, 5, 6, 20, 20, 0, 0, 50, 50}, scores{0.9F, 0.8F, 0.7F};
    std::vector<int64_t> first{0, 2, 3}, ids{7, 3};
    std::map<std::string, std::string> metadata{{"format", "lockstep proposals 2"}, {"set", "two"}};
  };
  std::string written(Content c) {
    const auto view = [](auto& values, Dims dims, DType dtype) {
      return Tensor{{dtype, std::move(dims)}, values.data()};
    };
    const auto size = [](const auto& values) { return static_cast<int64_t>(values.size()); };
    write_safetensors(path_,
                      {{"boxes", view(c.boxes, {size(c.boxes) / 4, 4}, DType::float32)},
                       {"scores", view(c.scores, {size(c.scores)}, DType::float32)},
                       {"first", view(c.first, {size(c.first)}, DType::int64)},
                       {"image_ids", view(c.ids, {size(c.ids)}, DType::int64)}},
                      c.metadata);
    return path_;
  }
  template <class Change, class... Parts>
  void refused(const Change& change, const Parts&... parts) {
    Content content;
    change(content);
    written(content);
    expect_error([&] { read_proposals(path_, "two", table_, kAll); }, path_ + ": ", parts...);
  }

  TemporaryFolder folder_;
  const std::string path_ = folder_ / "proposals.safetensors";
  const Annotations table_ = two_images();
};

TEST_F(ProposalFile, IsReadAsItWasWritten) {
  const Chosen first{{1, 2, 31, 42}, {5.5F, 6.25F, 20, 20}}, second{{0, 0, 50, 50}};
  write_proposals(path_, "two", table_, std::vector{ranked(first), ranked(second)});
  EXPECT_EQ(read_proposals(path_, "two", table_, kAll), (std::vector{first, second}));
  Annotations other_order = table_;
  std::swap(other_order.images[0], other_order.images[1]);
  EXPECT_EQ(read_proposals(path_, "two", other_order, kAll), (std::vector{second, first}));
  write_proposals(path_, "two", table_, std::vector<FoundBoxes>(2));
  EXPECT_EQ(read_proposals(path_, "two", table_, kAll), std::vector<Chosen>(2));
  expect_error([&] { write_proposals(path_, "two", table_, std::vector<FoundBoxes>(1)); },
               "proposals for 1 pictures, but two.json has 2");
}

TEST_F(ProposalFile, OfAnotherDataSetIsRefused) {
  written({});
  expect_error([&] { read_proposals(path_, "three", table_, kAll); }, path_,
               "holds proposals for 'two', not for 'three'");
  refused([](Content& c) { c.ids[1] = 4; }, "has no image 3, which two.json has",
          "of another data set?");
  refused([](Content& c) { c.ids[1] = 7; }, "has image 7 twice");
  refused(
      [](Content& c) {
        c.ids.push_back(9);
        c.first.push_back(3);
      },
      "has 3 images, but two.json has 2");
}

TEST_F(ProposalFile, OfAnotherKindIsRefused) {
  for (const char* name : {"a.pkl", "a.json", "safetensors"})
    expect_error([&] { read_proposals(folder_ / name, "two", table_, kAll); }, name,
                 "proposals are read from .safetensors files", "`lockstep test`", "MODEL.RPN_ONLY");
  expect_error([&] { read_proposals(folder_ / "no.safetensors", "two", table_, kAll); },
               "no.safetensors");
  refused([](Content& c) { c.metadata.erase("format"); }, "is not a file of proposals",
          "its metadata has no format");
  refused([](Content& c) { c.metadata["format"] = "lockstep checkpoint 2"; },
          "its format is 'lockstep checkpoint 2', should be 'lockstep proposals 2'");
  std::vector<double> doubles{0.5};
  write_safetensors(path_, {{"image_ids", {{DType::float64, {1}}, doubles.data()}}},
                    Content{}.metadata);
  expect_error([&] { read_proposals(path_, "two", table_, kAll); },
               "'image_ids' is float64[1], should be int64[N]");
  write_safetensors(path_, {}, Content{}.metadata);
  expect_error([&] { read_proposals(path_, "two", table_, kAll); }, "has no tensor 'image_ids'");
}

TEST_F(ProposalFile, ThatIsCutOrDamagedIsRefused) {
  const std::string whole = read_file(written({}));
  for (const std::size_t bytes :
       {std::size_t{0}, std::size_t{5}, whole.size() / 2, whole.size() - 1}) {
    write_file(path_, whole.substr(0, bytes));
    expect_error([&] { read_proposals(path_, "two", table_, kAll); }, path_);
  }
  std::string damaged = whole;
  damaged[whole.size() - 3] ^= 1;
  write_file(path_, damaged);
  expect_error([&] { read_proposals(path_, "two", table_, kAll); }, path_,
               "does not match its checksum");
}

TEST_F(ProposalFile, WhoseNumbersDoNotAddUpIsRefused) {
  refused([](Content& c) { c.scores.pop_back(); }, "has 3 boxes, but 2 scores");
  refused([](Content& c) { c.first.pop_back(); },
          "'first' has 2 numbers for 2 pictures, should have 3");
  refused([](Content& c) { c.first = {0, 2, 4}; }, "'first' goes from 0 to 4, but there are 3");
  refused([](Content& c) { c.first = {1, 2, 3}; }, "'first' goes from 1 to 3");
  refused([](Content& c) { c.first = {0, 9, 3}; }, "'first' descends from 9 to 3 at picture 1");
  refused([](Content& c) { c.first = {0, -9, 3}; }, "'first' descends from 0 to -9 at picture 0");
  refused([](Content& c) { c.scores[1] = 0.95F; }, "box 1, of image 7, has a score of 0.95, more");
  refused([](Content& c) { c.scores[2] = std::nanf(""); }, "box 2, of image 3, is 0, 0, 50, 50",
          "with a score of nan");
  refused([](Content& c) { c.boxes[6] = std::numeric_limits<float>::infinity(); },
          "box 1, of image 7, is 5, 6, inf, 20");
}

Chosen chosen_of(const Chosen& boxes, const ProposalRules& rules) {
  return chosen_proposals(ranked(boxes), two_images(), 0, rules);
}

TEST(ProposalRules, CutBoxesToThePictureAndDropThoseTooSmall) {
  EXPECT_EQ(chosen_of({{-5, -5, 10, 70},
                       {90, 50, 130, 80},
                       {98.5F, 0, 120, 20},
                       {5, 5, 7, 7},
                       {200, 10, 250, 20},
                       {30, 30, 10, 10}},
                      {.rounding = 0}),
            (Chosen{{0, 0, 10, 60}, {90, 50, 100, 60}, {5, 5, 7, 7}}));
}

TEST(ProposalRules, TakeTheBestOfThoseThatRoundToOnePlace) {
  const Chosen boxes{{10, 10, 30, 30}, {10.25F, 9.75F, 30, 30}, {10.75F, 10, 30, 30}};
  EXPECT_EQ(chosen_of(boxes, {}), (Chosen{boxes[0], boxes[2]}));
  EXPECT_EQ(chosen_of(boxes, {.rounding = 0}), boxes);
}

// In cells of 16 pixels at twice the picture's size, 20 and 21.5 are in cell 1 and 26 is in cell 2.
TEST(ProposalRules, GiveThoseThatRoundToOnePlaceTheFirst) {
  const Chosen boxes{
      {10, 10, 30, 30}, {13, 10, 30, 30}, {10.75F, 10, 30, 30}, {12.75F, 10.25F, 30, 30}};
  Chosen shared = boxes;
  share_places(shared, 2.0 / 16);
  EXPECT_EQ(shared, (Chosen{boxes[0], boxes[1], boxes[0], boxes[1]}));
  shared = boxes;
  share_places(shared, 0);
  EXPECT_EQ(shared, boxes);
}

TEST(ProposalRules, TakeTheBestPlacesThenLeaveOutCrowds) {
  const Chosen boxes{{40, 0, 80, 20}, {0, 0, 20, 20}, {45, 0, 65, 20}, {0, 30, 20, 50}};
  EXPECT_EQ(chosen_of(boxes, {.places = 2}), (Chosen{boxes[0], boxes[1]}));
  EXPECT_EQ(chosen_of(boxes, {.places = 3, .crowd_share = 0.7}), (Chosen{boxes[1]}))
      << "3/4 of the first and third are in the crowd";
  EXPECT_EQ(chosen_of(boxes, {.crowd_share = 0.75}), boxes);
  EXPECT_EQ(chosen_of(boxes, {.crowd_share = 0.7, .least_area = 4000}), boxes);
}

class ProposalRulesOf : public DetectorConfigTest {};

TEST_F(ProposalRulesOf, AConfigurationAreDetectrons) {
  const DetectorConfig config = read(
      "TEST: {PROPOSAL_LIMIT: 300, SCALE: 500, MAX_SIZE: 900}\nTRAIN: {CROWD_FILTER_THRESH: 0.6, "
      "GT_MIN_AREA: 9, PROPOSALS: 700}\nDEDUP_BOXES: 0.25\n");
  const ProposalRules training = proposal_rules_for_training(config),
                      testing = proposal_rules_for_testing(config);
  EXPECT_EQ(training.places, 700);
  EXPECT_EQ(training.rounding, 1);
  EXPECT_EQ(training.crowd_share, 0.6);
  EXPECT_EQ(training.least_area, 9);
  EXPECT_EQ(training.least_side, 2);
  EXPECT_EQ(testing.places, 300);
  EXPECT_EQ(testing.rounding, 1) << "DEDUP_BOXES drops none";
  EXPECT_EQ(testing.least_side, 2);
  EXPECT_EQ(testing.crowd_share, 0);
}

}  // namespace
}  // namespace lockstep::testing
