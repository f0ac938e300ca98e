// SPDX-License-Identifier: Apache-2.0
// The detections in a batch of pictures equal the detections of the prediction graph in each
// picture alone.
#include <gtest/gtest.h>

#include <cmath>

#include "app/detection/datasets/proposal_file.h"
#include "app/detection/results/box_test.h"
#include "tests/detection/found_alike.h"
#include "tests/detection/small_detector.h"
#include "tests/support/expect_error.h"

namespace lockstep::testing {
namespace {

PictureList list_of(const PictureSet& pictures) {
  PictureList list;
  for (const CocoImage& image : pictures.annotations().images)
    list.sizes.push_back({image.height, image.width});
  list.read = [&pictures](std::size_t i) { return pictures.picture(i); };
  return list;
}

// Runs the graph on one picture, as a user would.
FoundBoxes found_by_hand(SmallDetector& detector, const Image& image) {
  const PictureScale scale = scale_to(image.height, image.width, 96, 160);
  const PictureSize size{padded(scale.height, 32), padded(scale.width, 32)};
  std::vector<float> pixels(static_cast<std::size_t>(3 * size.area()));
  write_picture(image, scale, {}, {pixels.data(), size.height, size.width});
  std::vector<float> extent{static_cast<float>(scale.height), static_cast<float>(scale.width),
                            static_cast<float>(scale.scale)};
  const TrainingModel model = detector_step(detector.config, size);
  const auto program = detector.session.inference_of(model);
  EXPECT_EQ(program->feeds(), (std::vector<std::string>{"data", "im_info"}));
  const Tensor feeds[] = {{{DType::float32, {1, 3, size.height, size.width}}, pixels.data()},
                          {{DType::float32, {1, 3}}, extent.data()}};
  const auto results = program->run(feeds, detector.session.run_options(0));
  FoundBoxes found;
  for (int64_t i = 0; i < *results[3].as<int64_t>(); ++i) {
    FoundBox& box = found.emplace_back();
    std::copy_n(results[0].as<float>() + 4 * i, 4, box.corners.begin());
    box.score = results[1].as<float>()[i];
    box.kind = results[2].as<int64_t>()[i];
  }
  return found;
}

TEST(BoxFinder, FindsWhatThePredictionGraphFindsInEachPicture) {
  const CutScenes pictures(7);
  for (const std::string& model : {kSmallFaster, kSmallRetinaNet}) {
    SmallDetector one(small_detector_config(model));
    for (const State& state : one.model.states)
      EXPECT_NE(state.kind, StateKind::computed) << state.name << " differs by replica";
    SmallDetector two(small_detector_config(model, {"DEVICES", "cpu*2"}));
    const auto found = BoxFinder(two.config, two.session).find(list_of(pictures));
    ASSERT_EQ(found.size(), 7U);
    for (std::size_t i = 0; i < found.size(); ++i) {
      SCOPED_TRACE(join("picture ", i));
      expect_same_boxes({found[i]}, {found_by_hand(one, pictures.picture(i))});
      EXPECT_GT(found[i].size(), 3U);
      const CocoImage& image = pictures.annotations().images[i];
      for (const FoundBox& box : found[i]) {
        EXPECT_GE(box.kind, 1);
        EXPECT_LE(box.corners[2], static_cast<float>(image.width));
        EXPECT_LE(box.corners[3], static_cast<float>(image.height));
      }
    }
  }
}

TEST(BoxFinder, KeepsAFewSizesInTheMemoryOfTheLargest) {
  const CutScenes pictures(20, true);
  SmallDetector detector(small_detector_config(
      kSmallRpn, {"FPN.COARSEST_STRIDE", "32", "TEST.SCALE", "120", "TEST.MAX_SIZE", "500"}));
  BoxFinder finder(detector.config, detector.session);
  const PictureList list = list_of(pictures);
  const auto found = finder.find(list);
  const std::size_t bytes = detector.session.step().arena_bytes();
  EXPECT_GT(bytes, 0U);
  EXPECT_EQ(finder.networks_kept(), 16U);
  for (std::size_t i = list.sizes.size(); i-- > 0;) {  // the smallest first
    const PictureList single{{list.sizes[i]}, [&](std::size_t) { return pictures.picture(i); }};
    EXPECT_TRUE(finder.find(single)[0] == found[i]) << "picture " << i;
  }
  EXPECT_EQ(detector.session.step().arena_bytes(), bytes);
  EXPECT_EQ(finder.find({}).size(), 0U);
  const Image images[] = {pictures.picture(4), pictures.picture(9)};
  EXPECT_TRUE(finder.find(list_of_pictures(images)) == (std::vector{found[4], found[9]}));
}

TEST(BoxFinder, NamesThePictureThatCannotBeRead) {
  const CutScenes pictures(5);
  SmallDetector detector(small_detector_config(kSmallRpn));
  BoxFinder finder(detector.config, detector.session);
  PictureList list = list_of(pictures);
  list.read = [&](std::size_t i) {
    check(i != 3, "c.jpg: is cut off");
    return pictures.picture(i);
  };
  expect_error([&] { finder.find(list); }, "c.jpg: is cut off");
  list.read = [&](std::size_t) { return Image{2, 3, std::vector<uint8_t>(18)}; };
  expect_error([&] { finder.find(list); }, "is 2 pixels high and 3 wide, should be ");
  EXPECT_EQ(finder.find(list_of(pictures)).size(), 5U);
}

TEST(BoxFinder, RefusesParametersThatAreNotNumbers) {
  const CutScenes pictures(2);
  SmallDetector detector(small_detector_config(kSmallRpn));
  const std::string name = "cpu_0/rpn_bbox_pred_fpn2_w";
  const Literal value = detector.session.save().at(name);
  std::vector<float> numbers(static_cast<std::size_t>(value.count()), 0.1F);
  numbers[5] = std::nanf("");
  detector.session.load({{name, Literal::of<float>(numbers, value.dims())}});
  BoxFinder finder(detector.config, detector.session);
  expect_error([&] { finder.find(list_of(pictures)); },
               "'rpn_bbox_pred_fpn2_w' is nan at [0,5,0,0]",
               "the parameters are damaged, or training has diverged");
}

// With TEST.BBOX_REG false, RetinaNet's results are anchors, which do not depend on its weights.
TEST(BoxFinder, WithoutRefinementRetinaNetFindsAnchors) {
  const CutScenes pictures(3);
  const auto boxes_of = [&](const char* refines, float factor) {
    SmallDetector detector(small_detector_config(kSmallRetinaNet, {"TEST.BBOX_REG", refines}));
    StateValues changed;
    for (const auto& [name, value] : detector.session.save()) {
      if (name.find("retnet_bbox_pred") == std::string::npos) continue;
      std::vector<float> numbers(value.values<float>().begin(), value.values<float>().end());
      for (float& number : numbers) number = number * factor + factor - 1;
      changed.emplace(name, Literal::of<float>(numbers, value.dims()));
    }
    EXPECT_FALSE(changed.empty());
    detector.session.load(changed);
    return BoxFinder(detector.config, detector.session).find(list_of(pictures));
  };
  const auto anchors = boxes_of("false", 1);
  expect_same_boxes(boxes_of("false", 1.5F), anchors);
  EXPECT_GT(anchors[0].size(), 3U);
  EXPECT_FALSE(boxes_of("true", 1.5F) == boxes_of("true", 1));
}

// Proposals of an RPN that are written to a file and fed give the results of the network with the
// RPN. The pictures' scaled sides are whole numbers; for other pictures, proposals are clipped up
// to a pixel later. No proposal takes another's place (DEDUP_BOXES). The networks have different
// plans, and maybe different layouts.
TEST(BoxFinder, ClassifiesFedProposalsAsItsOwn) {
  const TemporaryFolder folder;
  const ScenePictures pictures({.count = 5});
  const Annotations& table = pictures.annotations();
  SmallDetector faster(small_detector_config(kSmallFaster));
  const StateValues values = faster.session.save();
  const auto load_into = [&](SmallDetector& detector) {
    StateValues own;
    for (const State& state : detector.model.states)
      for (const std::string& name : state.values)
        if (values.contains("cpu_0/" + state.name))
          own.emplace(name, values.at("cpu_0/" + state.name));
    detector.session.load(own);
  };
  SmallDetector rpn(small_detector_config(kSmallRpn));
  load_into(rpn);
  const BoxTestResult proposals = BoxTest(rpn.config, rpn.session, pictures).test();
  const auto paths = write_found(folder.path(), "cut", table, proposals, {.proposals_only = true});
  EXPECT_EQ(paths, std::vector{folder / "proposals.safetensors"});
  const auto read =
      read_proposals(paths[0], "cut", table, {.places = 30, .least_side = 0, .rounding = 0});

  SmallDetector fast(small_detector_config(
      kSmallFast, {"DEVICES", "cpu*2", "TEST.PROPOSAL_LIMIT", "30", "DEDUP_BOXES", "0"}));
  load_into(fast);
  BoxTest test(fast.config, fast.session, pictures, [&](std::size_t i) { return read[i]; });
  const BoxTestResult expected = BoxTest(faster.config, faster.session, pictures).test();
  expect_close_boxes(test.test().found, expected.found);

  BoxTest without(fast.config, fast.session, pictures);
  expect_error([&] { without.test(); }, "small.yaml: the network has no RPN",
               "set TEST.PROPOSAL_FILES");
  BoxTest few(fast.config, fast.session, pictures, [&](std::size_t) {
    return std::vector<Corners>{{10, 10, 60, 60}};
  });
  for (const FoundBoxes& found : few.test().found) EXPECT_LE(found.size(), 4U);
}

}  // namespace
}  // namespace lockstep::testing
