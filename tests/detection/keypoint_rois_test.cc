// SPDX-License-Identifier: Apache-2.0
// The RoIs from which keypoints are learnt: objects with a labelled point, whatever the box head
// samples.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "lockstep/feeds.h"
#include "tests/detection/small_detector.h"

namespace lockstep::testing {
namespace {

constexpr int64_t kTrueBoxes = 8, kPoints = 5;

struct TruthOfPicture {
  std::vector<std::array<float, 4>> boxes;
  std::set<int64_t> with_points;  // rows
  std::set<int64_t> crowd = {};
};

struct LearntRois {
  std::vector<std::array<float, 4>> boxes;  // of all places
  std::vector<int64_t> classes, rows;
  int64_t count = 0;  // of filled places
};

float overlap(const std::array<float, 4>& a, const std::array<float, 4>& b) {
  const auto area = [](const auto& box) { return (box[2] - box[0]) * (box[3] - box[1]); };
  const float width = std::min(a[2], b[2]) - std::max(a[0], b[0]);
  const float height = std::min(a[3], b[3]) - std::max(a[1], b[1]);
  const float shared = std::max(0.0F, width) * std::max(0.0F, height);
  return shared / (area(a) + area(b) - shared);
}

class KeypointRois : public ::testing::Test {
 protected:
  LearntRois learnt(const TruthOfPicture& truth, uint64_t step = 1) {
    const TrainingModel& model = detector_.model;
    std::map<std::string, Literal> fed;
    for (const StepInput& input : model.inputs)
      if (input.role == Role::data) {
        const TensorType& type = model.step.type(model.step.at(input.values[0]));
        fed[input.name] = Literal(type.dtype, to_dims(type.shape));
      }
    std::copy_n(std::array<float, 3>{96, 128, 1}.data(), 3, view_of(fed.at("im_info")).as<float>());
    PhiloxSequence random(5, 0);
    for (int64_t i = 0; i < fed.at("data").count(); ++i)
      view_of(fed.at("data")).as<float>()[i] = static_cast<float>(random.below(200)) - 100;
    for (std::size_t row = 0; row < truth.boxes.size(); ++row) {
      const auto number = static_cast<int64_t>(row);
      std::copy_n(truth.boxes[row].data(), 4, view_of(fed.at("gt_boxes")).as<float>() + 4 * row);
      view_of(fed.at("gt_classes")).as<int64_t>()[row] = 1 + number % 4;
      view_of(fed.at("gt_crowd")).as<int64_t>()[row] = truth.crowd.contains(number) ? 1 : 0;
      if (!truth.with_points.contains(number)) continue;
      // One hidden point; the others are not labelled.
      float* point = view_of(fed.at("gt_keypoints")).as<float>() + 3 * kPoints * row;
      point[0] = truth.boxes[row][0] + 3;
      point[1] = truth.boxes[row][1] + 3;
      point[2] = 1;
    }
    Feeds feeds(model);
    for (const auto& [name, value] : fed) feeds.set(name, view_of(value));
    feeds.set(Role::rate, 0.0F);
    if (feeds.has(Role::correction)) feeds.set(Role::correction, 1);
    const std::vector<std::string> fetches{named("rois_with_points"), named("rois_with_points_1"),
                                           named("rois_with_points_3")};
    const auto program = detector_.session.program(model.step, model.feed_values(), fetches, {});
    const auto results = program->run(feeds.tensors(), detector_.session.run_options(step));
    LearntRois rois;
    const int64_t places = results[0].desc.dims[1];
    rois.boxes.resize(static_cast<std::size_t>(places));
    std::memcpy(rois.boxes.data(), results[0].data, results[0].desc.bytes());
    rois.classes.assign(results[1].as<int64_t>(), results[1].as<int64_t>() + places);
    rois.rows.assign(results[2].as<int64_t>(), results[2].as<int64_t>() + places);
    rois.count = std::ranges::count_if(rois.rows, [](int64_t row) { return row >= 0; });
    return rois;
  }

  SmallDetector detector_{
      small_detector_config(kSmallKeypoints, {"TRAIN.TRUE_BOXES", std::to_string(kTrueBoxes)})};

 private:
  std::string named(const std::string& value) const {
    const Graph& step = detector_.model.step;
    for (int id = 0; id < step.value_count(); ++id) {
      const std::string& name = step.name({id});
      if (name == value || name.ends_with("/" + value)) return name;
    }
    throw Error(join("the step has no value ", value));
  }
};

const std::vector<std::array<float, 4>> kObjectBoxes{
    {4, 4, 40, 40}, {50, 4, 90, 40}, {4, 50, 44, 90}, {60, 44, 124, 92}, {70, 2, 126, 30}};

TEST_F(KeypointRois, AreObjectsWithALabelledPoint) {
  const std::set<int64_t> with_points{1, 3};
  for (const uint64_t step : {1, 2, 3}) {
    const LearntRois rois = learnt({kObjectBoxes, with_points}, step);
    EXPECT_EQ(rois.boxes.size(), 16U) << "a quarter of TRAIN.BATCH_SIZE_PER_IM";
    std::set<int64_t> seen;
    for (std::size_t i = 0; i < rois.boxes.size(); ++i) {
      const bool is_filled = static_cast<int64_t>(i) < rois.count;
      ASSERT_EQ(rois.rows[i] >= 0, is_filled) << "objects come first; place " << i;
      ASSERT_EQ(rois.classes[i], is_filled ? 1 + rois.rows[i] % 4 : -1) << i;
      if (!is_filled) continue;
      EXPECT_TRUE(with_points.contains(rois.rows[i])) << rois.rows[i];
      EXPECT_GE(overlap(rois.boxes[i], kObjectBoxes[static_cast<std::size_t>(rois.rows[i])]), 0.5F);
      seen.insert(rois.rows[i]);
    }
    EXPECT_EQ(seen, with_points) << "true boxes are candidates";
  }
}

TEST_F(KeypointRois, AreEmptyPlacesWithoutPoints) {
  EXPECT_EQ(learnt({kObjectBoxes, {}}).count, 0);
  EXPECT_EQ(learnt({{}, {}}).count, 0);
}

// A proposal within a crowd region counts for no head; a true box does.
TEST_F(KeypointRois, AreNoProposalsOfACrowd) {
  std::vector<std::array<float, 4>> boxes = kObjectBoxes;
  boxes.push_back({0, 0, 128, 96});
  const LearntRois rois = learnt({boxes, {0, 2}, {5}});
  ASSERT_EQ(rois.count, 2);
  for (std::size_t i = 0; i < 2; ++i)
    EXPECT_EQ(rois.boxes[i], kObjectBoxes[static_cast<std::size_t>(rois.rows[i])]);
}

}  // namespace
}  // namespace lockstep::testing
