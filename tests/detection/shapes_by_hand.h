// SPDX-License-Identifier: Apache-2.0
// Masks and points of small detectors, computed by hand.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "app/detection/datasets/keypoint_rules.h"
#include "app/detection/find/picture_programs.h"
#include "app/detection/shapes/shape_programs.h"
#include "data/coco/masks.h"
#include "data/coco/rle.h"
#include "lockstep/loader.h"
#include "tests/detection/found_alike.h"
#include "tests/detection/small_detector.h"

namespace lockstep::testing {

using Options = std::vector<std::string>;
inline constexpr int64_t kArrowKind = 4;  // the class with points
// Sides of the outputs of kSmallMaskHead and kSmallKeypointHead, and the numbers of a box.
inline constexpr std::size_t kMask = 8, kHeatmap = 16, kPoints = 5;
inline constexpr std::size_t kOfMask = kMask * kMask, kOfHeatmaps = kPoints * kHeatmap * kHeatmap;

inline std::vector<Image> images_in(const PictureSet& pictures) {
  std::vector<Image> images;
  for (std::size_t i = 0; i < pictures.annotations().images.size(); ++i)
    images.push_back(pictures.picture(i));
  return images;
}

inline KeypointRules arrow_rules() {
  KeypointRules rules;
  rules.classes.resize(4);
  rules.classes[kArrowKind - 1] = KeypointPairs{{1, 2}, {3, 4}};
  rules.sigmas.assign(5, 0.05);
  return rules;
}

// The outputs of the heads for boxes of a picture as the plain view shows it.
inline HeadOutputs heads_on(const DetectorConfig& config, Session& session, const Image& image,
                            const std::vector<Corners>& boxes,
                            const std::vector<int64_t>& classes) {
  DetectorConfig of_maps = config;
  of_maps.network.test.predicts = Predicts::maps;
  const PictureList list = list_of_pictures({&image, 1});
  const auto plain = views_of({}, "", config.network.test);
  const PictureRounds rounds(of_maps, list, views_of_pictures(list, plain, 0, 1), 1);
  PicturePrograms programs(of_maps, session, 2);
  Loader loader(rounds, 1);
  const auto maps = programs.run(rounds, 0, loader.get(0));
  const ShapeRequest request{&maps[0], extent_of(rounds.view(0).view.scale()), boxes, classes};
  return ShapePrograms(config, session, 2).run(rounds.size(0), {&request, 1}).at(0);
}

inline double mask_overlap(const RunLengths& a, const RunLengths& b) {
  const std::vector<RunLengths> both{a, b};
  const int64_t all = area_of(joined(both));
  return all == 0 ? 1 : static_cast<double>(area_of(common(both))) / static_cast<double>(all);
}

// Expects equality up to the rounding of float32. First masks are close to the threshold.
inline void expect_close_shapes(const FoundBoxes& found, const FoundBoxes& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_TRUE(close_boxes(found[i], expected[i])) << text_of(found[i]);
    EXPECT_GT(mask_overlap(found[i].mask, expected[i].mask), 0.98) << i;
    ASSERT_EQ(found[i].points.size(), expected[i].points.size());
    for (std::size_t k = 0; k < found[i].points.size(); ++k)
      EXPECT_NEAR(found[i].points[k].logit, expected[i].points[k].logit, 1e-5);
  }
}

}  // namespace lockstep::testing
