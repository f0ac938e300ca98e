// SPDX-License-Identifier: Apache-2.0
// A detector's test gives the same result for any number of replicas, reading threads and
// processes.
#include "app/detection/results/box_test.h"

#include <gtest/gtest.h>

#include <set>

#include "lockstep/operators.h"
#include "lockstep/processes.h"
#include "tests/detection/found_alike.h"
#include "tests/detection/small_detector.h"
#include "tests/support/expect_error.h"
#include "tests/support/queued_cpu.h"
#include "tests/support/ranks.h"
#include "tests/support/threads.h"

namespace lockstep::testing {
namespace {

TEST(BoxTest, GivesTheSameBitsForAnyReplicasReadersAndProcesses) {
  const CutScenes pictures(8);
  for (const std::string& model : {kSmallFaster, kSmallRpn}) {
    SmallDetector alone(small_detector_config(model, {"DATA_LOADER.NUM_THREADS", "1"}));
    const BoxTestResult expected = BoxTest(alone.config, alone.session, pictures).test();
    const auto expect_same = [&](const BoxTestResult& result) {
      expect_same_boxes(result.found, expected.found);
      ASSERT_EQ(result.scores.has_value(), expected.scores.has_value());
      if (expected.scores) {
        EXPECT_TRUE(result.scores->precision == expected.scores->precision);
        EXPECT_TRUE(result.scores->recall == expected.scores->recall);
      } else {
        EXPECT_EQ(result.proposals->at_100.average, expected.proposals->at_100.average);
        EXPECT_EQ(result.proposals->at_1000.at_half, expected.proposals->at_1000.at_half);
      }
    };
    for (const char* devices : {"cpu", "cpu*2", "cpu*3"}) {
      SCOPED_TRACE(devices);
      SmallDetector several(
          small_detector_config(model, {"DEVICES", devices, "DATA_LOADER.NUM_THREADS", "3"}));
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

// A set with unreadable and missing pictures.
class SomeBadScenes final : public PictureSet {
 public:
  SomeBadScenes(const PictureSet& all, std::set<std::size_t> bad, bool left_out)
      : all_(all), bad_(std::move(bad)), annotations_(all.annotations()) {
    if (!left_out) return;
    annotations_ = {};
    annotations_.categories = all.annotations().categories;
    annotations_.first_object.push_back(0);
    for (std::size_t i = 0; i < all.annotations().images.size(); ++i) {
      if (bad_.count(i) > 0) continue;
      annotations_.images.push_back(all.annotations().images[i]);
      for (CocoObject object : all.annotations().objects_of(i)) {
        object.image = static_cast<int32_t>(numbers_.size());
        annotations_.objects.push_back(object);
      }
      annotations_.first_object.push_back(annotations_.objects.size());
      numbers_.push_back(i);
    }
    bad_.clear();
  }
  const Annotations& annotations() const override { return annotations_; }
  Image picture(std::size_t number) const override {
    check(bad_.count(number) == 0, "scene ", number, " is bad");
    return all_.picture(numbers_.empty() ? number : numbers_[number]);
  }

 private:
  const PictureSet& all_;
  std::set<std::size_t> bad_;
  Annotations annotations_;
  std::vector<std::size_t> numbers_;
};

TEST(BoxTest, IsTheSameWithoutPicturesThatCannotBeRead) {
  const CutScenes pictures(8);
  const SomeBadScenes bad(pictures, {1, 6}, false), rest(pictures, {1, 6}, true);
  for (const std::string& model : {kSmallFaster, kSmallRpn}) {
    SmallDetector strict(small_detector_config(model));
    expect_error([&] { BoxTest(strict.config, strict.session, bad).test(); }, "is bad",
                 "TRAIN.SKIP_BAD_IMAGES true leaves it out of the test");
    const BoxTestResult expected = BoxTest(strict.config, strict.session, rest).test();
    const auto expect_same = [&](const BoxTestResult& result) {
      EXPECT_EQ(result.left_out,
                (std::map<std::size_t, std::string>{{1, "scene 1 is bad"}, {6, "scene 6 is bad"}}));
      if (expected.scores) {
        EXPECT_TRUE(result.scores->precision == expected.scores->precision);
        EXPECT_TRUE(result.scores->recall == expected.scores->recall);
      } else {
        EXPECT_EQ(result.proposals->at_100.average, expected.proposals->at_100.average);
      }
      EXPECT_TRUE(result.found[1].empty() && result.found[6].empty());
    };
    const std::vector<std::string> skip{"TRAIN.SKIP_BAD_IMAGES", "True", "DEVICES", "cpu*2"};
    SmallDetector two(small_detector_config(model, skip));
    BoxTest test(two.config, two.session, bad);
    expect_same(test.test());
    expect_same(test.test());
    run_ranks(2, [&](Comm& comm) {
      SmallDetector part(small_detector_config(model, skip, 2), &comm);
      const BoxTestResult result = BoxTest(part.config, part.session, bad).test();
      if (comm.rank() == 0) expect_same(result);
    });
  }
}

// The order of a convolution's sums may depend on the threads of a replica (docs/execution.md).
TEST(BoxTest, FindsTheSameBoxesOnMoreThreads) {
  const CutScenes pictures(8);
  SmallDetector alone(small_detector_config(kSmallFaster));
  SmallDetector threaded(small_detector_config(kSmallFaster), nullptr, usable_threads(2));
  expect_close_boxes(BoxTest(threaded.config, threaded.session, pictures).test().found,
                     BoxTest(alone.config, alone.session, pictures).test().found);
}

// Expects the test to leave no trace in the memory of the step.
void expect_no_trace(const std::string& devices, const std::vector<KernelTable>& kernels,
                     Comm* comm) {
  SCOPED_TRACE(join(devices, comm ? " of two processes" : ""));
  const CutScenes pictures(3);
  const DetectorConfig config =
      small_detector_config(kSmallFaster, {"DEVICES", devices}, comm ? 2 : 1);
  SmallDetector tested(config, comm, 1, kernels), untested(config, comm, 1, kernels);
  const StateValues first = untested.session.save();
  BoxTest test(tested.config, tested.session, pictures);
  test.test();
  for (uint64_t step = 0; step < 3; ++step) {
    tested.train(step);
    test.test();
    untested.train(step);
  }
  const StateValues expected = untested.session.save();
  for (const auto& [name, value] : tested.session.save())
    EXPECT_TRUE(value == expected.at(name)) << name;
  EXPECT_FALSE(first == expected) << "no parameter changed";
}

TEST(BoxTest, LeavesNoTraceInTraining) {
  expect_no_trace("cpu*2", all_kernels(), nullptr);
  run_ranks(2, [](Comm& comm) { expect_no_trace("cpu*2", all_kernels(), &comm); });
  run_ranks(2, [](Comm& comm) { expect_no_trace("gpu", queued_kernels(), &comm); });
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

// In order, even if a rank's boxes do not fit into one message.
TEST(FoundBoxes, AreGatheredFromAllProcesses) {
  std::vector<FoundBoxes> all(7);
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].resize(i == 4 ? 700'000 : 3 * i);
    for (std::size_t b = 0; b < all[i].size(); ++b) {
      const auto at = static_cast<float>(b);
      all[i][b] = {{at, 1, at + 2, 3}, -at, static_cast<int64_t>(i)};
      if (i == 3) all[i][b].mask = {4, 5, {0, static_cast<uint32_t>(b), 20}};
      if (i == 5) all[i][b].points.assign(b % 4, {at, 2, -1, 0.5F});
    }
  }
  run_ranks(3, [&](Comm& comm) {
    const auto rank = static_cast<std::size_t>(comm.rank());
    std::vector<FoundBoxes> mine;
    for (std::size_t i = rank; i < all.size(); i += 3) mine.push_back(all[i]);
    EXPECT_TRUE(gather_boxes(comm, mine, 7) == (rank == 0 ? all : std::vector<FoundBoxes>{}));
  });
  run_ranks(2, [&](Comm& comm) {
    EXPECT_TRUE(gather_boxes(comm, {}, 0).empty());
    if (comm.rank() == 0)
      expect_error([&] { gather_boxes(comm, {{}}, 2); }, "rank 1 sent only 0 bytes");
    else
      gather_boxes(comm, {}, 2);
  });
}

TEST(BoxTest, RefusesClassesUnlikeTheDataSets) {
  const CutScenes pictures(1);
  SmallDetector detector(small_detector_config(kSmallFaster, {"MODEL.NUM_CLASSES", "7"}));
  expect_error([&] { BoxTest(detector.config, detector.session, pictures); },
               "MODEL.NUM_CLASSES is 7, but ", "has 4 categories", "should be 5");
}

// Detections that equal the annotated objects.
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
  const BoxTestResult boxes = scored(truth_of(truth), truth, {}, 1);
  EXPECT_EQ(boxes.scores->numbers().ap, 1);
  EXPECT_EQ(boxes.scores->numbers().ar100, 1);
  std::vector<FoundBoxes> found = truth_of(truth);
  for (FoundBoxes& of_picture : found)
    for (FoundBox& box : of_picture) box.kind = 0;
  const BoxTestResult proposals = scored(found, truth, {.proposals_only = true}, 1);
  EXPECT_EQ(proposals.proposals->at_100.average[0], 1);
  EXPECT_EQ(proposals.proposals->at_1000.average[0], 1);
  found.pop_back();
  expect_error([&] { scored(found, truth, {}, 1); }, "boxes of 29 pictures, but ", "has 30");
}

TEST(BoxTest, WritesWhatWasFoundInCocosForm) {
  const TemporaryFolder folder;
  const ScenePictures pictures({.count = 5});
  const Annotations& truth = pictures.annotations();
  const BoxTestResult result = scored(truth_of(truth), truth, {}, 1);
  const auto paths = write_found(folder.path(), "mine", truth, result, {});
  EXPECT_EQ(paths, std::vector{folder / "bbox_mine_results.json"});
  const std::vector<Detection> read = read_results(paths[0], truth);
  const std::vector<Detection> written = detections_of(result.found);
  ASSERT_EQ(read.size(), written.size());
  for (std::size_t i = 0; i < read.size(); ++i) {
    EXPECT_EQ(read[i].image, written[i].image);
    EXPECT_EQ(read[i].category, written[i].category);
    EXPECT_EQ(read[i].bbox, written[i].bbox);
  }
  expect_error([&] { write_found(folder.path(), "a/b", truth, result, {}); }, "'a/b'",
               "contains a /");
  expect_error([&] { write_found(folder / "none", "mine", truth, result, {}); },
               "none/bbox_mine_results.json");
}

}  // namespace
}  // namespace lockstep::testing
