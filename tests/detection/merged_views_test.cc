// SPDX-License-Identifier: Apache-2.0
// Views of a picture, and the results among their candidates: tests/detection/merging_cases.json,
// computed with NumPy by tests/python/merging_cases.py.
#include "app/detection/find/merged_views.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "data/detection/widened.h"
#include "graph/file.h"
#include "lockstep/random.h"
#include "tests/detection/detector_config_fixture.h"

namespace lockstep::testing {
namespace {

using Json = nlohmann::json;

const Json& merging_cases() {
  static const Json cases =
      Json::parse(read_file(LOCKSTEP_SOURCE_DIR "/tests/detection/merging_cases.json"));
  return cases;
}

// All numbers of a nested list.
void append_flat(const Json& value, std::vector<float>& numbers) {
  if (value.is_number()) return numbers.push_back(value.get<float>());
  for (const Json& item : value) append_flat(item, numbers);
}

RefinedAttrs rules_of(const Json& test, int64_t classes) {
  RefinedAttrs rules;
  rules.classes = classes;
  rules.score_threshold = 0.05F;
  rules.overlap = test["overlap"];
  rules.capacity = test["capacity"];
  rules.method = test["method"];
  rules.sigma = test["sigma"];
  rules.vote = test["vote"];
  rules.vote_overlap = test["vote_overlap"];
  rules.vote_beta = test["vote_beta"];
  return rules;
}

FoundBoxes merged_here(const Json& test) {
  const Json &all = merging_cases(), &views = all["views"][test["views"].get<std::string>()];
  BoxAugmentation augmentation;
  augmentation.score_heur = test["score_heur"];
  augmentation.coord_heur = test["coord_heur"];
  MergedViews merged(rules_of(test, all["classes"]), augmentation);
  for (std::size_t i = 0; i < views.size(); ++i) {
    const View view({.scale = 100,
                     .longest = 300,
                     .widening = views[i]["widening"],
                     .mirrored = views[i]["mirrored"]},
                    {all["picture"][0], all["picture"][1]});
    std::vector<float> boxes, scores;
    append_flat(views[i]["boxes"], boxes);
    append_flat(views[i]["scores"], scores);
    merged.add(view, i + 1 == views.size(),
               {boxes.data(), scores.data(), nullptr, static_cast<int64_t>(scores.size())});
  }
  return merged.results();
}

TEST(MergedViews, AreThoseOfNumPy) {
  ASSERT_GE(merging_cases()["cases"].size(), 40U);
  for (const Json& test : merging_cases()["cases"]) {
    Json rules = test;
    rules.erase("results");
    SCOPED_TRACE(rules.dump());
    const FoundBoxes found = merged_here(test);
    ASSERT_EQ(found.size(), test["results"].size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      const Json& row = test["results"][i];
      EXPECT_EQ(row[0].get<int64_t>(), found[i].kind) << "result " << i;
      EXPECT_NEAR(row[1].get<float>(), found[i].score, 1e-5) << "result " << i;
      for (std::size_t k = 0; k < 4; ++k)
        EXPECT_NEAR(row[2 + k].get<float>(), found[i].corners[k], 1e-3) << "result " << i;
    }
  }
}

TEST(MergedViews, HaveNoResultsWithoutCandidates) {
  MergedViews merged({}, {});
  EXPECT_TRUE(merged.results().empty());
  merged.add(View({.scale = 10, .longest = 100}, {10, 10}), true, {});
  EXPECT_TRUE(merged.results().empty());
}

// -- views

TestAugmentation every_kind() {
  TestAugmentation views;
  views.enabled = views.h_flip = views.scale_h_flip = true;
  views.scales = {50, 70};
  views.max_size = 400;
  views.aspect_ratios = {1.5, 0.5};
  return views;
}

TEST(Views, AreListedInDetectronsOrderWithThePlainViewLast) {
  DetectionTestOptions plain;
  plain.scale = 60;
  plain.max_size = 100;
  std::vector<std::string> said;
  for (const ViewRules& view : views_of(every_kind(), "TEST.BBOX_AUG", plain))
    said.push_back(join(view.scale, "/", view.longest, view.mirrored ? " mirrored" : "",
                        view.widening == 1 ? "" : join(" x", view.widening), " ", view.key));
  EXPECT_EQ(said, (Words{"60/100 mirrored ", "50/400 TEST.BBOX_AUG.SCALES",
                         "50/400 mirrored TEST.BBOX_AUG.SCALES", "70/400 TEST.BBOX_AUG.SCALES",
                         "70/400 mirrored TEST.BBOX_AUG.SCALES",
                         "60/100 x1.5 TEST.BBOX_AUG.ASPECT_RATIOS",
                         "60/100 x0.5 TEST.BBOX_AUG.ASPECT_RATIOS", "60/100 "}));
  EXPECT_EQ(views_of({}, "TEST.BBOX_AUG", plain).size(), 1U);
}

TEST(Views, MapBoxesThereAndBack) {
  DetectionTestOptions plain;
  const Corners box{3.25F, 7, 40.5F, 30};
  for (const ViewRules& rules : views_of(every_kind(), "TEST.BBOX_AUG", plain)) {
    const View view(rules, {60, 90});
    const Corners seen = view.in_view(box), back = view.in_picture(seen);
    const float left = static_cast<float>(rules.widening) * box[0],
                right = static_cast<float>(rules.widening) * box[2],
                wide = static_cast<float>(rules.widening) * 90;
    EXPECT_NEAR(seen[0], rules.mirrored ? wide - right : left, 1e-4);
    EXPECT_NEAR(seen[2], rules.mirrored ? wide - left : right, 1e-4);
    EXPECT_EQ(seen[1], box[1]);
    for (std::size_t k = 0; k < 4; ++k) EXPECT_NEAR(back[k], box[k], 1e-4);
    if (rules.key.empty() && !rules.mirrored) {
      EXPECT_EQ(seen, box);
    }
  }
  // The width of the view is whole: 33 x 0.5 rounds to 16 pixels.
  const View half({.scale = 20, .longest = 100, .widening = 0.5, .key = "K"}, {20, 33});
  EXPECT_EQ(half.in_view({0, 0, 33, 20}), (Corners{0, 0, 16, 20}));
  EXPECT_EQ(half.in_picture({0, 0, 16, 20}), (Corners{0, 0, 33, 20}));
}

TEST(Views, OfNothingAreRefusedByTheirKey) {
  const PictureSize thin{3, 400};
  expect_error([&] { View({.scale = 40, .longest = 50, .key = "TEST.BBOX_AUG.SCALES"}, thin); },
               "TEST.BBOX_AUG.SCALES: a picture of 3 x 400 pixels, scaled to 40 and at most 50",
               "nothing is left of it");
  expect_error(
      [&] {
        View({.scale = 600,
              .longest = 1000,
              .widening = 0.001,
              .key = "TEST.BBOX_AUG.ASPECT_RATIOS"},
             thin);
      },
      "TEST.BBOX_AUG.ASPECT_RATIOS 0.001: a picture of 3 x 400 pixels would be 0 pixels wide");
  expect_error(
      [&] {
        View(
            {.scale = 600, .longest = 1000, .widening = 1000, .key = "TEST.BBOX_AUG.ASPECT_RATIOS"},
            thin);
      },
      "would be 400000 pixels wide");
  EXPECT_EQ(View({.scale = 40, .longest = 50}, thin).scale().height, 1) << "the plain view";
}

// Interpolates in double.
double naive_column(const uint8_t* row, int64_t width, int64_t channel, double at) {
  const double place = std::clamp(at, 0.0, static_cast<double>(width - 1));
  const auto first = static_cast<int64_t>(place);
  const int64_t second = std::min(first + 1, width - 1);
  const double share = place - static_cast<double>(first);
  return (1 - share) * row[3 * first + channel] + share * row[3 * second + channel];
}

TEST(Views, WidenPicturesBetweenTheCentresOfPixels) {
  PhiloxSequence random(1, 2);
  Image image{5, 13, std::vector<uint8_t>(3 * 5 * 13)};
  for (uint8_t& value : image.rgb) value = static_cast<uint8_t>(random.below(256));
  for (const int64_t width : {1, 6, 13, 14, 40}) {
    const Image wide = widened(image, width);
    ASSERT_EQ(wide.width, width);
    ASSERT_EQ(wide.height, 5);
    for (int64_t y = 0; y < 5; ++y)
      for (int64_t x = 0; x < width; ++x)
        for (int64_t c = 0; c < 3; ++c) {
          const double at = (static_cast<double>(x) + 0.5) * 13 / static_cast<double>(width) - 0.5;
          EXPECT_NEAR(wide.rgb[3 * (y * width + x) + c],
                      naive_column(&image.rgb[3 * y * 13], 13, c, at), 0.5001);
        }
  }
  EXPECT_EQ(widened(image, 13).rgb, image.rgb);
  expect_error([&] { widened(image, 0); }, "cannot become 0 pixels wide");
}

}  // namespace
}  // namespace lockstep::testing
