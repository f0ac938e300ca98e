// SPDX-License-Identifier: Apache-2.0
// The inputs for outlines and keypoints: which networks have them, with which slots, and that
// minibatches and held-out pictures fill them.
#include <gtest/gtest.h>

#include <map>

#include "app/detection/train/held_out_loss.h"
#include "app/detection/train/truth_places.h"
#include "data/detection/batches.h"
#include "tests/detection/small_detector.h"

namespace lockstep::testing {
namespace {

using Words = std::vector<std::string>;

const Words kMasks{"MODEL.MASK_ON", "True", "MRCNN.ROI_MASK_HEAD",
                   "mask_rcnn_heads.mask_rcnn_fcn_head_v1up"};
const Words kKeypoints{"MODEL.KEYPOINTS_ON",       "True",
                       "KRCNN.ROI_KEYPOINTS_HEAD", "keypoint_rcnn_heads.add_roi_pose_head_v1convX",
                       "KRCNN.NUM_KEYPOINTS",      "5",
                       "KRCNN.NUM_STACKED_CONVS",  "1",
                       "KRCNN.CONV_HEAD_DIM",      "16",
                       "KRCNN.USE_DECONV_OUTPUT",  "True",
                       "KRCNN.UP_SCALE",           "2",
                       "KRCNN.HEATMAP_SIZE",       "28"};

Words both(Words words = {}) {
  words.insert(words.end(), kMasks.begin(), kMasks.end());
  words.insert(words.end(), kKeypoints.begin(), kKeypoints.end());
  return words;
}

// The shapes of the inputs that hold true shapes.
std::map<std::string, Dims> shape_inputs(const DetectorConfig& config) {
  std::map<std::string, Dims> found;
  const TrainingModel model = detector_step(config, {96, 96});
  for (const StepInput& input : model.inputs)
    for (const char* name : {"gt_vertices", "gt_vertex_of", "gt_keypoints"})
      if (input.name == name)
        found[name] = to_dims(model.step.type(model.step.at(input.values[0])).shape);
  return found;
}

TEST(TruthInputs, ExistWhereAHeadReadsThem) {
  using Found = std::map<std::string, Dims>;
  const Found vertices{{"gt_vertices", {2, 700, 2}}, {"gt_vertex_of", {2, 700, 2}}};
  const Words sizes{"TRAIN.IMS_PER_BATCH", "2", "TRAIN.VERTICES", "700", "TRAIN.TRUE_BOXES", "9"};
  const auto of = [&](const std::string& model, Words words) {
    words.insert(words.end(), sizes.begin(), sizes.end());
    return shape_inputs(small_detector_config(model, words));
  };
  EXPECT_EQ(of(kSmallFaster, kMasks), vertices);
  EXPECT_EQ(of(kSmallFast, kMasks), vertices);
  EXPECT_EQ(of(kSmallFaster, kKeypoints), (Found{{"gt_keypoints", {2, 9, 5, 3}}}));
  EXPECT_EQ(of(kSmallFaster, both()).size(), 3U);
  EXPECT_TRUE(of(kSmallFaster, {}).empty());
  EXPECT_TRUE(of(kSmallRpn, {}).empty());
  EXPECT_TRUE(of(kSmallRetinaNet, {}).empty());
  EXPECT_EQ(DetectionShape{}.vertices, 8192);
}

TEST(TruthInputs, HaveTheSlotsThatTheDataNeed) {
  const ScenePictures scenes({.count = 40});
  const Annotations& table = scenes.annotations();
  const auto fitted = [&](const Words& words) {
    DetectorConfig config = small_detector_config(kSmallFaster, words);
    fit_truth_places(config, table);
    return config;
  };
  const DetectorConfig masks = fitted(kMasks);
  EXPECT_EQ(masks.network.shape.vertices, most_vertices(table, -1));
  EXPECT_EQ(masks.origins.of("TRAIN.VERTICES"), "inferred from TRAIN.DATASETS");
  EXPECT_EQ(masks.network.shape.true_boxes, most_training_boxes(table, -1));
  EXPECT_EQ(truth_places(masks).keypoints, 0);
  EXPECT_EQ(fitted(both({"TRAIN.VERTICES", "400"})).network.shape.vertices, 400);
  const DetectorConfig boxes = fitted({});
  EXPECT_EQ(boxes.network.shape.vertices, 8192) << "not needed";
  EXPECT_FALSE(boxes.origins.is_set("TRAIN.VERTICES"));
  EXPECT_EQ(truth_places(boxes).vertices, 0);
}

// A step on a minibatch, and the losses on held-out pictures: each input is fed, with any number of
// vertices.
TEST(TruthInputs, AreFed) {
  const CutScenes pictures(5);
  DetectorConfig config = small_detector_config(kSmallFaster, both());
  fit_truth_places(config, pictures.annotations());
  const TrainingModel step = detector_step(config, {128, 160});
  Session session(step, config.run.devices.list, all_kernels(), {.seed = 3, .threads = 1});
  session.initialise();
  const TruthPlaces places = truth_places(config);
  const DetectionBatches batches(pictures, {.batch = 1,
                                            .scales = {96},
                                            .longest = 160,
                                            .places = places.boxes,
                                            .vertices = places.vertices,
                                            .keypoints = places.keypoints,
                                            .fixed = {128, 160}});
  Loader loader(batches, 1);
  Feeds feeds(step);
  const std::span<const Tensor> read = loader.get(0);
  for (std::size_t i = 0; i < read.size(); ++i) feeds.set(batches.forms()[0][i].name, read[i]);
  feeds.set(Role::rate, 1e-4F);
  if (feeds.has(Role::correction)) feeds.set(Role::correction, 1);
  EXPECT_TRUE(std::isfinite(session.run_step(feeds, 0).loss()));

  const NamedNumbers losses = HeldOutLoss(config, session, pictures).losses();
  DetectorConfig wide = config;
  wide.network.shape.vertices = 5000;  // the held-out pictures' own number counts
  EXPECT_EQ(HeldOutLoss(wide, session, pictures).losses(), losses);
  EXPECT_TRUE(std::isfinite(losses.at(0).second));
  EXPECT_GT(losses.at(0).second, 0);
}

}  // namespace
}  // namespace lockstep::testing
