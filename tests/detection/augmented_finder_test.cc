// SPDX-License-Identifier: Apache-2.0
// A detector sees pictures in several views (TEST.BBOX_AUG), and proposals that share a place
// (DEDUP_BOXES). Networks that see pictures transformed beforehand give the same results.
#include <gtest/gtest.h>

#include <cmath>

#include "app/detection/results/box_test.h"
#include "data/detection/widened.h"
#include "lockstep/loader.h"
#include "tests/detection/found_alike.h"
#include "tests/detection/small_detector.h"
#include "tests/support/expect_error.h"
#include "tests/support/ranks.h"

namespace lockstep::testing {
namespace {

PictureList list_from(const std::vector<Image>& images, const PictureProposals& proposals = {}) {
  PictureList list = list_of_pictures(images);
  list.proposals = proposals;
  return list;
}

std::vector<Image> images_of(const PictureSet& pictures) {
  std::vector<Image> images;
  for (std::size_t i = 0; i < pictures.annotations().images.size(); ++i)
    images.push_back(pictures.picture(i));
  return images;
}

Image turned_around(const Image& image) {
  Image result = image;
  for (int64_t y = 0; y < image.height; ++y)
    for (int64_t x = 0; x < image.width; ++x)
      std::copy_n(&image.rgb[3 * (y * image.width + x)], 3,
                  &result.rgb[3 * (y * image.width + image.width - 1 - x)]);
  return result;
}

// The candidates of a picture as the plain view shows it.
struct AllCandidates {
  std::vector<float> boxes, scores;
};
std::vector<AllCandidates> candidates_of(const DetectorConfig& config, Session& session,
                                         const PictureList& list) {
  DetectorConfig plain = config;
  plain.network.test.all_candidates = true;
  plain.test.bbox_aug.enabled = false;
  const auto views = views_of(plain.test.bbox_aug, "", plain.network.test);
  const PictureRounds rounds(plain, list, views_of_pictures(list, views, 0, list.sizes.size()), 1);
  PicturePrograms programs(plain, session, 16);
  Loader loader(rounds, 1);
  std::vector<AllCandidates> all(list.sizes.size());
  for (int64_t round = 0; round < rounds.rounds(); ++round) {
    const auto tensors = programs.run(rounds, round, loader.get(round)).at(0);
    const Tensor &boxes = tensors.at("boxes"), &scores = tensors.at("scores");
    AllCandidates& of = all[rounds.views(round)[0]];
    of.boxes.assign(boxes.as<float>(), boxes.as<float>() + element_count(boxes.desc.dims));
    of.scores.assign(scores.as<float>(), scores.as<float>() + element_count(scores.desc.dims));
  }
  return all;
}

float naive_overlap(const Corners& a, const Corners& b) {
  const float wide = std::max(0.0F, std::min(a[2], b[2]) - std::max(a[0], b[0])),
              high = std::max(0.0F, std::min(a[3], b[3]) - std::max(a[1], b[1]));
  const auto area = [](const Corners& c) { return (c[2] - c[0]) * (c[3] - c[1]); };
  return wide * high / (area(a) + area(b) - wide * high);
}

// Suppresses boxes of a class at an overlap of 0.3, and keeps the best 20.
FoundBoxes naively_chosen(FoundBoxes candidates) {
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const FoundBox& a, const FoundBox& b) { return a.score > b.score; });
  FoundBoxes kept;
  for (const FoundBox& box : candidates)
    if (kept.size() < 20 && std::none_of(kept.begin(), kept.end(), [&](const FoundBox& better) {
          return better.kind == box.kind && naive_overlap(better.corners, box.corners) > 0.3F;
        }))
      kept.push_back(box);
  return kept;
}

constexpr float kLeast = 0.01F;  // SCORE_THRESH of small detectors
constexpr std::size_t kClasses = 5;

FoundBoxes boxes_among(const AllCandidates& all, float width, bool mirrored, float widening) {
  FoundBoxes found;
  for (std::size_t i = 0; i < all.scores.size(); ++i) {
    if (i % kClasses == 0 || !(all.scores[i] > kLeast)) continue;
    const float* box = &all.boxes[4 * i];
    Corners at{box[0], box[1], box[2], box[3]};
    if (mirrored) at = {width - box[2], box[1], width - box[0], box[3]};
    at[0] /= widening;
    at[2] /= widening;
    found.push_back({at, all.scores[i], static_cast<int64_t>(i % kClasses)});
  }
  return found;
}

const std::vector<std::string> kViews{
    "TEST.BBOX_AUG.ENABLED",      "true", "TEST.BBOX_AUG.H_FLIP",        "true",
    "TEST.BBOX_AUG.SCALES",       "[64]", "TEST.BBOX_AUG.MAX_SIZE",      "100",
    "TEST.BBOX_AUG.SCALE_H_FLIP", "true", "TEST.BBOX_AUG.ASPECT_RATIOS", "[1.25]"};

std::vector<std::string> with(std::vector<std::string> words,
                              const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST(AugmentedFinder, WithoutFurtherViewsFindsTheSameBits) {
  const std::vector<Image> images = images_of(CutScenes(5));
  SmallDetector plain(small_detector_config(kSmallFaster));
  SmallDetector alone(small_detector_config(kSmallFaster, {"TEST.BBOX_AUG.ENABLED", "true"}));
  const auto found = BoxFinder(alone.config, alone.session).find(list_from(images));
  expect_same_boxes(found, BoxFinder(plain.config, plain.session).find(list_from(images)));
  EXPECT_GT(found[0].size(), 3U);
}

TEST(AugmentedFinder, JoinsWhatTheNetworkFindsInTransformedPictures) {
  const std::vector<Image> images = images_of(CutScenes(4));
  SmallDetector detector(small_detector_config(kSmallFaster, kViews));
  const auto found = BoxFinder(detector.config, detector.session).find(list_from(images));

  std::vector<FoundBoxes> all(images.size());
  const auto see = [&](int64_t scale, int64_t longest, bool mirrored, double widening) {
    DetectorConfig config = detector.config;
    config.network.test.scale = scale;
    config.network.test.max_size = longest;
    std::vector<Image> shown;
    for (const Image& image : images) {
      const Image wide = widened(image, std::llrint(static_cast<double>(image.width) * widening));
      shown.push_back(mirrored ? turned_around(wide) : wide);
    }
    const auto seen = candidates_of(config, detector.session, list_from(shown));
    for (std::size_t i = 0; i < images.size(); ++i)
      for (const FoundBox& box :
           boxes_among(seen[i], static_cast<float>(shown[i].width), mirrored,
                       static_cast<float>(shown[i].width) / static_cast<float>(images[i].width)))
        all[i].push_back(box);
  };
  see(96, 160, true, 1);
  see(64, 100, false, 1);
  see(64, 100, true, 1);
  see(96, 160, false, 1.25);
  see(96, 160, false, 1);
  std::vector<FoundBoxes> expected;
  for (const FoundBoxes& boxes : all) expected.push_back(naively_chosen(boxes));
  expect_close_boxes(found, expected);
}

TEST(AugmentedFinder, GivesTheSameBitsForAnyReplicasReadersAndProcesses) {
  const CutScenes pictures(7);
  const auto words = with(kViews, {"TEST.SOFT_NMS.ENABLED", "true", "TEST.BBOX_VOTE.ENABLED",
                                   "true", "TEST.BBOX_VOTE.SCORING_METHOD", "IOU_AVG"});
  SmallDetector alone(
      small_detector_config(kSmallFaster, with(words, {"DATA_LOADER.NUM_THREADS", "1"})));
  const auto expected = BoxTest(alone.config, alone.session, pictures).test().found;
  SmallDetector several(small_detector_config(kSmallFaster, with(words, {"DEVICES", "cpu*3"})));
  expect_same_boxes(BoxTest(several.config, several.session, pictures).test().found, expected);
  run_ranks(2, [&](Comm& comm) {
    SmallDetector part(small_detector_config(kSmallFaster, with(words, {"DEVICES", "cpu*2"}), 2),
                       &comm);
    const BoxTestResult result = BoxTest(part.config, part.session, pictures).test();
    if (comm.rank() == 0) expect_same_boxes(result.found, expected);
  });
}

TEST(AugmentedFinder, RefusesViewsOfNothingBeforeItReadsAPicture) {
  SmallDetector detector(small_detector_config(
      kSmallFaster, {"TEST.BBOX_AUG.ENABLED", "true", "TEST.BBOX_AUG.ASPECT_RATIOS", "[0.01]"}));
  PictureList list{{{60, 90}, {90, 30}}, [](std::size_t) -> Image { fail("a picture was read"); }};
  expect_error(
      [&] { BoxFinder(detector.config, detector.session).find(list); },
      "TEST.BBOX_AUG.ASPECT_RATIOS 0.01: a picture of 90 x 30 pixels would be 0 pixels wide");
}

// -- given proposals

const std::vector<Corners> kGiven{{10, 12, 50, 60}, {20, 5, 70, 40}, {10.5F, 12, 50.5F, 60}};

std::vector<Corners> given_to(std::size_t /*picture*/) { return kGiven; }

TEST(AugmentedFinder, AveragesGivenProposalsOverTheViews) {
  const std::vector<Image> images = images_of(ScenePictures({.count = 2}));
  for (const char* heuristic : {"AVG", "ID"}) {
    SCOPED_TRACE(heuristic);
    SmallDetector fast(
        small_detector_config(kSmallFast, {"TEST.BBOX_AUG.ENABLED", "true", "TEST.BBOX_AUG.H_FLIP",
                                           "true", "TEST.BBOX_AUG.SCORE_HEUR", heuristic,
                                           "TEST.BBOX_AUG.COORD_HEUR", "AVG", "DEDUP_BOXES", "0"}));
    const auto found = BoxFinder(fast.config, fast.session).find(list_from(images, given_to));
    std::vector<Image> around;
    for (const Image& image : images) around.push_back(turned_around(image));
    const auto wide = static_cast<float>(images[0].width);
    const auto given_around = [&](std::size_t picture) {
      std::vector<Corners> boxes = given_to(picture);
      for (Corners& box : boxes) box = {wide - box[2], box[1], wide - box[0], box[3]};
      return boxes;
    };
    const auto plain = candidates_of(fast.config, fast.session, list_from(images, given_to)),
               turned = candidates_of(fast.config, fast.session, list_from(around, given_around));
    std::vector<FoundBoxes> expected;
    for (std::size_t i = 0; i < images.size(); ++i) {
      AllCandidates mean = plain[i];
      for (std::size_t k = 0; k < mean.scores.size(); ++k) {
        if (heuristic[0] == 'A') mean.scores[k] = (plain[i].scores[k] + turned[i].scores[k]) / 2;
        for (std::size_t side = 0; side < 4; ++side) {
          const float other = turned[i].boxes[4 * k + (side % 2 == 0 ? 2 - side : side)];
          mean.boxes[4 * k + side] += side % 2 == 0 ? wide - other : other;
          mean.boxes[4 * k + side] /= 2;
        }
      }
      expected.push_back(naively_chosen(boxes_among(mean, wide, false, 1)));
    }
    expect_close_boxes(found, expected);
    EXPECT_GT(found[0].size(), 2U);
  }
}

// The first and the third proposal share a cell of 16 pixels.
TEST(AugmentedFinder, GivesProposalsThatShareAPlaceTheResultOfTheFirst) {
  const std::vector<Image> images = images_of(ScenePictures({.count = 1}));
  const auto rows = [&](const char* dedup) {
    SmallDetector fast(small_detector_config(kSmallFast, {"DEDUP_BOXES", dedup}));
    return candidates_of(fast.config, fast.session, list_from(images, given_to)).at(0);
  };
  const AllCandidates shared = rows("0.0625"), apart = rows("0");
  const auto row = [](const AllCandidates& all, std::size_t proposal) {
    std::vector<float> numbers(&all.scores[kClasses * proposal],
                               &all.scores[kClasses * proposal] + kClasses);
    numbers.insert(numbers.end(), &all.boxes[4 * kClasses * proposal],
                   &all.boxes[4 * kClasses * proposal] + 4 * kClasses);
    return numbers;
  };
  EXPECT_EQ(row(shared, 2), row(shared, 0));
  EXPECT_NE(row(apart, 2), row(apart, 0));
  EXPECT_EQ(row(shared, 1), row(apart, 1));
  EXPECT_EQ(row(shared, 0), row(apart, 0));
}

// A graph on given boxes uses the states of the session of another graph.
TEST(AugmentedFinder, ClassifiesGivenBoxesOverTheStatesOfAnRpnNetwork) {
  const std::vector<Image> images = images_of(ScenePictures({.count = 2}));
  SmallDetector faster(small_detector_config(kSmallFaster)),
      fast(small_detector_config(kSmallFast, {"DEDUP_BOXES", "0"}));
  const StateValues values = faster.session.save();
  StateValues own;
  for (const State& state : fast.model.states)
    if (values.contains("cpu_0/" + state.name))
      own.emplace("cpu_0/" + state.name, values.at("cpu_0/" + state.name));
  fast.session.load(own);
  const auto here = candidates_of(on_given_boxes(faster.config), faster.session,
                                  list_from(images, given_to)),
             there = candidates_of(fast.config, fast.session, list_from(images, given_to));
  for (std::size_t i = 0; i < images.size(); ++i) {
    ASSERT_EQ(here[i].scores.size(), there[i].scores.size());
    for (std::size_t k = 0; k < here[i].scores.size(); ++k)
      EXPECT_NEAR(here[i].scores[k], there[i].scores[k], 1e-5);
  }
}

}  // namespace
}  // namespace lockstep::testing
