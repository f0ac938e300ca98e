// What a detector finds in pictures, and how that is scored: the same for any number of replicas,
// threads and processes, and what its prediction graph says of each picture alone.
#include "tools/detection/box_test.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/detection/small_detector.h"
#include "tests/support/expect_error.h"
#include "tests/support/ranks.h"
#include "tests/support/threads.h"
#include "tools/detection/proposal_file.h"

namespace lockstep::testing {
namespace {

PictureList list_of(const PictureSet& pictures) {
  PictureList list;
  for (const CocoImage& image : pictures.annotations().images)
    list.sizes.push_back({image.height, image.width});
  list.read = [&pictures](std::size_t i) { return pictures.picture(i); };
  return list;
}

// As a user would run the graph on one picture.
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
      EXPECT_TRUE(found[i] == found_by_hand(one, pictures.picture(i))) << "picture " << i;
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
  PictureList list = list_of(pictures);
  const auto found = finder.find(list);
  const std::size_t bytes = detector.session.step().arena_bytes();
  EXPECT_GT(bytes, 0U);
  EXPECT_LE(finder.networks_kept(), 16U);
  EXPECT_TRUE(finder.find(list) == found);
  EXPECT_EQ(detector.session.step().arena_bytes(), bytes);

  BoxFinder other(detector.config, detector.session);  // the smallest first
  for (std::size_t i = list.sizes.size(); i-- > 0;) {
    const PictureList single{{list.sizes[i]}, [&](std::size_t) { return pictures.picture(i); }};
    EXPECT_TRUE(other.find(single)[0] == found[i]) << "picture " << i;
  }
  EXPECT_EQ(other.find({}).size(), 0U);
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

// An RPN's proposals, written and read again, are what a network with an RPN classifies. Of
// pictures whose scaled sides are whole: others' proposals are cut a fraction of a pixel later.
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
  const std::string path = write_found(folder.path(), "cut", table, proposals);
  EXPECT_EQ(path, folder / "proposals.safetensors");
  const auto read =
      read_proposals(path, "cut", table, {.places = 30, .least_side = 0, .rounding = 0});

  SmallDetector fast(
      small_detector_config(kSmallFast, {"DEVICES", "cpu*2", "TEST.PROPOSAL_LIMIT", "30"}));
  load_into(fast);
  BoxTest test(fast.config, fast.session, pictures, [&](std::size_t i) { return read[i]; });
  const BoxTestResult expected = BoxTest(faster.config, faster.session, pictures).test();
  EXPECT_TRUE(test.test().found == expected.found);

  BoxTest without(fast.config, fast.session, pictures);
  expect_error([&] { without.test(); }, "small.yaml: the network has no RPN",
               "set TEST.PROPOSAL_FILES");
  BoxTest few(fast.config, fast.session, pictures, [&](std::size_t) {
    return std::vector<Corners>{{10, 10, 60, 60}};
  });
  for (const FoundBoxes& found : few.test().found) EXPECT_LE(found.size(), 4U);
}

TEST(BoxTest, GivesTheSameBitsForAnyReplicasThreadsAndProcesses) {
  const CutScenes pictures(11);
  for (const std::string& model : {kSmallFaster, kSmallRpn}) {
    SmallDetector alone(small_detector_config(model, {"DATA_LOADER.NUM_THREADS", "1"}));
    const BoxTestResult expected = BoxTest(alone.config, alone.session, pictures).test();
    const auto expect_same = [&](const BoxTestResult& result) {
      EXPECT_TRUE(result.found == expected.found);
      ASSERT_EQ(result.scores.has_value(), expected.scores.has_value());
      if (expected.scores) {
        EXPECT_TRUE(result.scores->precision == expected.scores->precision);
        EXPECT_TRUE(result.scores->recall == expected.scores->recall);
      } else {
        EXPECT_EQ(result.proposals->at_100.average, expected.proposals->at_100.average);
        EXPECT_EQ(result.proposals->at_1000.at_half, expected.proposals->at_1000.at_half);
      }
    };
    for (const auto& [devices, threads] : {std::pair{"cpu", 2}, {"cpu*2", 1}, {"cpu*3", 1}}) {
      SCOPED_TRACE(join(devices, " with ", threads, " threads"));
      SmallDetector several(
          small_detector_config(model, {"DEVICES", devices, "DATA_LOADER.NUM_THREADS", "3"}),
          nullptr, usable_threads(threads));
      expect_same(BoxTest(several.config, several.session, pictures).test());
    }
    run_ranks(2, [&](Comm& comm) {
      SmallDetector part(small_detector_config(model, {"DEVICES", "cpu*2"}, 2), &comm);
      const BoxTestResult result = BoxTest(part.config, part.session, pictures).test();
      if (comm.rank() == 0) return expect_same(result);
      EXPECT_TRUE(result.found.empty() && !result.scores && !result.proposals);
    });
  }
}

// More processes than pictures.
TEST(BoxTest, LetsProcessesBeIdle) {
  const CutScenes pictures(1);
  run_ranks(2, [&](Comm& comm) {
    SmallDetector part(small_detector_config(kSmallRpn, {}, 2), &comm);
    const BoxTestResult result = BoxTest(part.config, part.session, pictures).test();
    if (comm.rank() == 0) {
      EXPECT_EQ(result.found.size(), 1U);
    }
  });
}

TEST(BoxTest, RefusesClassesUnlikeTheDataSets) {
  const CutScenes pictures(1);
  SmallDetector detector(small_detector_config(kSmallFaster, {"MODEL.NUM_CLASSES", "7"}));
  expect_error([&] { BoxTest(detector.config, detector.session, pictures); },
               "MODEL.NUM_CLASSES is 7, but ", "has 4 categories", "should be 5");
}

// Every object found where it is.
std::vector<FoundBoxes> truth_of(const Annotations& table) {
  std::vector<FoundBoxes> found(table.images.size());
  for (std::size_t i = 0; i < table.images.size(); ++i)
    for (const CocoObject& object : table.objects_of(i)) {
      if (object.crowd) continue;
      const auto& box = object.bbox;
      found[i].push_back(
          {{static_cast<float>(box[0]), static_cast<float>(box[1]),
            static_cast<float>(box[0] + box[2]), static_cast<float>(box[1] + box[3])},
           1,
           object.category + 1});
    }
  return found;
}

TEST(BoxTest, ScoresTheTruthAsPerfect) {
  const ScenePictures pictures({.count = 30});
  const Annotations& truth = pictures.annotations();
  const BoxTestResult boxes = scored(truth_of(truth), truth, false, 1);
  EXPECT_EQ(boxes.scores->numbers().ap, 1);
  EXPECT_EQ(boxes.scores->numbers().ar100, 1);
  std::vector<FoundBoxes> found = truth_of(truth);
  for (FoundBoxes& of_picture : found)
    for (FoundBox& box : of_picture) box.kind = 0;
  const BoxTestResult proposals = scored(found, truth, true, 1);
  EXPECT_EQ(proposals.proposals->at_100.average[0], 1);
  EXPECT_EQ(proposals.proposals->at_1000.average[0], 1);
  found.pop_back();
  expect_error([&] { scored(found, truth, false, 1); }, "boxes of 29 pictures, but ", "has 30");
}

TEST(BoxTest, WritesWhatWasFoundInCocosForm) {
  const TemporaryFolder folder;
  const ScenePictures pictures({.count = 5});
  const Annotations& truth = pictures.annotations();
  const BoxTestResult result = scored(truth_of(truth), truth, false, 1);
  const std::string path = write_found(folder.path(), "mine", truth, result);
  EXPECT_EQ(path, folder / "bbox_mine_results.json");
  const std::vector<Detection> read = read_results(path, truth);
  const std::vector<Detection> written = detections_of(result.found);
  ASSERT_EQ(read.size(), written.size());
  for (std::size_t i = 0; i < read.size(); ++i) {
    EXPECT_EQ(read[i].image, written[i].image);
    EXPECT_EQ(read[i].category, written[i].category);
    EXPECT_EQ(read[i].bbox, written[i].bbox);
  }
  expect_error([&] { write_found(folder.path(), "a/b", truth, result); }, "'a/b'", "contains a /");
  expect_error([&] { write_found(folder / "none", "mine", truth, result); },
               "none/bbox_mine_results.json");
}

}  // namespace
}  // namespace lockstep::testing
