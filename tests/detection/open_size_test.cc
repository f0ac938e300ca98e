// SPDX-License-Identifier: Apache-2.0
// A prediction graph for pictures of any size finds the same boxes as a graph for one size.
#include <gtest/gtest.h>

#include <cstring>

#include "app/detection/exported.h"
#include "app/onnx/inference_run.h"
#include "app/onnx/portable_file.h"
#include "graph/passes/predict.h"
#include "tests/detection/small_detector.h"

namespace lockstep::testing {
namespace {

using Values = std::map<std::string, Literal>;

const std::string kOpenMasks = kSmallFaster +
                               "MODEL.MASK_ON: True\n"
                               "MRCNN: {ROI_MASK_HEAD: mask_rcnn_heads.mask_rcnn_fcn_head_v1up, "
                               "DIM_REDUCED: 8, RESOLUTION: 14, ROI_XFORM_RESOLUTION: 7, "
                               "ROI_XFORM_SAMPLING_RATIO: 2, CONV_INIT: MSRAFill}\n";
const std::string kOpenPoints =
    kSmallFaster +
    "MODEL.KEYPOINTS_ON: True\n"
    "KRCNN: {ROI_KEYPOINTS_HEAD: keypoint_rcnn_heads.add_roi_pose_head_v1convX, NUM_KEYPOINTS: 5, "
    "NUM_STACKED_CONVS: 1, CONV_HEAD_DIM: 8, ROI_XFORM_RESOLUTION: 7, ROI_XFORM_SAMPLING_RATIO: 2, "
    "USE_DECONV_OUTPUT: True, UP_SCALE: 2, HEATMAP_SIZE: 28, CONV_INIT: MSRAFill}\n";

template <class T>
Literal filled(const Dims& dims, const std::function<T(int64_t)>& value_at) {
  std::vector<T> values;
  for (int64_t i = 0; i < element_count(dims); ++i) values.push_back(value_at(i));
  return Literal::of<T>(values, dims);
}

Values inputs_of(const DetectorConfig& config, int64_t height, int64_t width) {
  PhiloxSequence random(7, 1);
  Values inputs;
  inputs["data"] = filled<float>(
      {1, 3, height, width}, [&](int64_t) { return static_cast<float>(random.below(200)) - 100; });
  const std::vector<float> extent{static_cast<float>(height - 9), static_cast<float>(width), 1.5F};
  inputs["im_info"] = Literal::of<float>(extent, {1, 3});
  if (config.network.rpn.rpn_on || config.network.retinanet.retinanet_on) return inputs;
  inputs["proposals"] = filled<float>({1, config.network.test.proposal_limit, 4}, [&](int64_t i) {
    const int64_t row = i / 4;
    if (row >= 30) return 0.0F;  // empty slots
    return static_cast<float>(row + (i % 4 < 2 ? 0 : 10 + row % 7));
  });
  return inputs;
}

// The outputs by name; of lists, only the filled slots.
Values found(const Graph& graph, const Values& inputs) {
  const std::vector<Literal> all = run_inference(graph, inputs, all_kernels());
  Values named;
  for (std::size_t i = 0; i < all.size(); ++i) named[graph.name(graph.outputs()[i])] = all[i];
  const int64_t count = named.at("count").integers()[0];
  for (auto& [name, literal] : named) {
    if (name == "count") continue;
    Dims dims = literal.dims();
    const std::size_t row = literal.bytes().size() / static_cast<std::size_t>(dims[1]);
    dims[1] = count;
    Literal filled_slots(literal.dtype(), dims);
    std::memcpy(filled_slots.bytes().data(), literal.bytes().data(),
                row * static_cast<std::size_t>(count));
    literal = filled_slots;
  }
  return named;
}

class OpenSize : public ::testing::TestWithParam<std::string> {
 protected:
  OpenSize() : detector_(small_detector_config(GetParam())) {
    const StateValues saved = detector_.session.save();
    for (const State& state : detector_.model.states)
      if (const auto value = saved.find(state.values[0]); value != saved.end())
        values_.emplace(state.name, value->second);
  }
  Graph network(const DetectorConfig& config, const PictureSize& size) const {
    return with_trained_values(detector_step(config, size), values_).inference;
  }

  SmallDetector detector_;
  StateValues values_;
};

TEST_P(OpenSize, FindsTheBoxesOfAGraphOfThatSize) {
  const DetectorConfig& config = detector_.config;
  const Graph open = network(with_open_prediction(config), {});
  TrainingModel portable(all_ops());
  portable.inference = open.clone();
  const Graph standard = portable_network(std::move(portable), "network").inference;
  EXPECT_EQ(text_of(open.shape(open.at("data"))), "[1,3,height,width]");
  for (const auto& [height, width] : {std::pair<int64_t, int64_t>{64, 192}, {128, 64}, {64, 64}}) {
    SCOPED_TRACE(join(height, " x ", width));
    const Values inputs = inputs_of(config, height, width);
    const Values wanted = found(network(config, {height, width}), inputs);
    EXPECT_GE(wanted.at("count").integers()[0], 3);
    EXPECT_EQ(found(open, inputs), wanted);
    const Values others = found(standard, inputs);
    EXPECT_EQ(others.at("count"), wanted.at("count"));
    for (const auto& [name, literal] : wanted) {
      ASSERT_EQ(others.at(name).dims(), literal.dims()) << name;
      if (literal.dtype() != DType::float32) continue;
      for (std::size_t i = 0; i < literal.values<float>().size(); ++i)
        EXPECT_NEAR(others.at(name).values<float>()[i], literal.values<float>()[i], 1e-3) << name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Detectors, OpenSize,
                         ::testing::Values(kSmallFaster, kSmallFast, kSmallRpn, kSmallRetinaNet,
                                           kOpenMasks, kOpenPoints));

// The metadata of an exported network says whether it takes one size.
TEST(PictureRules, NameTheSizeOnlyOfANetworkOfOneSize) {
  const DetectorConfig config = small_detector_config(kSmallFaster, {"IMAGE", "96x160"});
  EXPECT_NE(picture_rules(config, {}).find(R"("size":[96,160])"), std::string::npos)
      << picture_rules(config, {});
  const std::string open = picture_rules(with_open_prediction(config), {});
  EXPECT_EQ(open.find("\"size\""), std::string::npos) << open;
  for (const char* part : {R"("channels":"BGR")", R"("mean":[102.9801,115.9465,122.7717])",
                           R"("scale":96)", R"("max_size":160)", R"("stride":32)",
                           R"("im_info":["height","width","scale"])", R"("score_threshold":0.01)"})
    EXPECT_NE(open.find(part), std::string::npos) << part << " in " << open;
}

// A reader of masks and heatmaps needs their sizes, the threshold, and the classes with points.
TEST(PictureRules, NameTheWayOfMasksAndPointsIntoThePicture) {
  const PointNames arrows{{"arrow", {"tip", "tail"}}};
  const std::string masks =
      picture_rules(small_detector_config(kOpenMasks, {"MRCNN.THRESH_BINARIZE", "0.4"}), arrows);
  EXPECT_NE(masks.find(R"("masks":{"resolution":14,"threshold":0.4,"pasting":)"), std::string::npos)
      << masks;
  EXPECT_EQ(masks.find("keypoints"), std::string::npos) << masks;
  const std::string points = picture_rules(
      small_detector_config(kOpenPoints, {"KRCNN.INFERENCE_MIN_SIZE", "9", "KRCNN.NMS_OKS", "True",
                                          "TEST.KPS_AUG.ENABLED", "True"}),
      arrows);
  for (const char* part : {R"("keypoints":{"names":{"arrow":["tip","tail"]},"size":28,)",
                           R"("inference_min_size":9.0,)", R"("score":"bbox")",
                           R"("left_out":"TEST.KPS_AUG, KRCNN.NMS_OKS")"})
    EXPECT_NE(points.find(part), std::string::npos) << part << " in " << points;
  EXPECT_EQ(points.find("\"masks\""), std::string::npos) << points;
}

// The names of points go through a file's metadata, in the order of the data set.
TEST(PointNames, AreReadFromTheMetadataThatTheyMake) {
  const PointNames names{{"b \"quoted\"", {"z", "a"}}, {"a", {"nose"}}};
  TrainingModel network(all_ops());
  EXPECT_TRUE(point_names_in(network).empty());
  network.metadata[kPointNames] = metadata_of(names);
  EXPECT_EQ(point_names_in(network), names);
  network.metadata[kPointNames] = "[1, 2";
  EXPECT_TRUE(point_names_in(network).empty());
  EXPECT_EQ(point_names_of(CutScenes(1).annotations()).size(), 1U);
}

}  // namespace
}  // namespace lockstep::testing
