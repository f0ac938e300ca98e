// SPDX-License-Identifier: Apache-2.0
// Heads of masks and keypoints: parts of a prediction, steps without objects, and sizes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "app/onnx/inference_run.h"
#include "graph/passes/predict.h"
#include "models/detection/detector.h"
#include "tests/detection/scene_training.h"
#include "tests/support/expect_error.h"

namespace lockstep::testing {
namespace {

using NamedValues = std::map<std::string, Literal>;

// The words behind a model's text that replace its values.
struct ShapeModel {
  std::string name, model;
  std::vector<std::string> words = {};
};
std::ostream& operator<<(std::ostream& out, const ShapeModel& model) { return out << model.name; }

std::vector<std::string> of_masks(std::vector<std::string> more) {
  more.insert(more.begin(), {"MRCNN.ROI_MASK_HEAD", "mask_rcnn_heads.mask_rcnn_fcn_head_v1up"});
  return more;
}

std::vector<ShapeModel> shape_models() {
  return {
      {"masks", kSmallMask},
      {"keypoints", kSmallKeypoints},
      {"both", kSmallMask + kSmallKeypointHead},
      {"stage_5", kSmallStage5, kOneMap},
      {"own_stage_5",
       kSmallMask,
       {"MRCNN.ROI_MASK_HEAD", "mask_rcnn_heads.mask_rcnn_fcn_head_v0up"}},
      {"one_mask_for_all", kSmallMask, of_masks({"MRCNN.CLS_SPECIFIC_MASK", "False"})},
      {"linear_output", kSmallMask,
       of_masks({"MRCNN.USE_FC_OUTPUT", "True", "MRCNN.RESOLUTION", "5"})},
      {"dilated_and_enlarged", kSmallMask,
       of_masks({"MRCNN.DILATION", "2", "MRCNN.UPSAMPLE_RATIO", "2", "MRCNN.RESOLUTION", "16"})},
      {"normed",
       kSmallMask,
       {"MRCNN.ROI_MASK_HEAD", "mask_rcnn_heads.mask_rcnn_fcn_head_v1up4convs_gn",
        "GROUP_NORM.NUM_GROUPS", "4"}},
      {"convolved_heatmaps",
       kSmallKeypoints,
       {"KRCNN.USE_DECONV", "True", "KRCNN.USE_DECONV_OUTPUT", "False", "KRCNN.UP_SCALE", "-1",
        "KRCNN.HEATMAP_SIZE", "8"}}};
}

class ShapeHeads : public ::testing::TestWithParam<ShapeModel> {
 protected:
  ShapeHeads() : detector_(small_detector_config(GetParam().model, GetParam().words)) {
    PhiloxSequence random(11, 0);
    const StateValues saved = detector_.session.save();
    for (const State& state : detector_.model.states) {
      const auto value = saved.find(state.values[0]);
      if (value == saved.end()) continue;
      Literal changed = value->second;
      // The first masks are grey: their logits are almost 0.
      const bool is_drawn = state.name.find("mask") != std::string::npos ||
                            state.name.find("kps") != std::string::npos ||
                            state.name.find("fcn") != std::string::npos;
      if (is_drawn && state.kind == StateKind::weight) {
        const auto fan =
            static_cast<float>(changed.count()) / static_cast<float>(changed.dims()[0]);
        for (int64_t i = 0; i < changed.count(); ++i)
          view_of(changed).as<float>()[i] =
              (static_cast<float>(random.below(1000)) / 500 - 1) / std::sqrt(fan);
      }
      values_.emplace(state.name, std::move(changed));
    }
  }

  NamedValues predicted(Predicts part, const NamedValues& inputs, int64_t places = 0,
                        bool all_candidates = false) const {
    DetectorConfig config = detector_.config;
    config.network.test.predicts = part;
    config.network.test.shape_places = places;
    config.network.test.detections_per_im = 100;  // more than are found, so that places are empty
    config.network.test.all_candidates = all_candidates;
    const Graph graph = with_trained_values(detector_step(config, {96, 128}), values_).inference;
    EXPECT_EQ(graph.inputs().size(), inputs.size());
    const std::vector<Literal> all = run_inference(graph, inputs, all_kernels());
    NamedValues named;
    for (std::size_t i = 0; i < all.size(); ++i) named[graph.name(graph.outputs()[i])] = all[i];
    return named;
  }

  static NamedValues picture() {
    PhiloxSequence random(7, 1);
    Literal data(DType::float32, {1, 3, 96, 128});
    for (int64_t i = 0; i < data.count(); ++i)
      view_of(data).as<float>()[i] = static_cast<float>(random.below(200)) - 100;
    const std::vector<float> extent{90, 128, 1.5F};
    return {{"data", data}, {"im_info", Literal::of<float>(extent, {1, 3})}};
  }

  SmallDetector detector_;
  StateValues values_;
};

// The first `rows` rows of x [1, N, ..], with zeros behind the end of x.
Literal first_rows(const Literal& x, int64_t rows) {
  Dims dims = x.dims();
  const std::size_t bytes = x.bytes().size() / static_cast<std::size_t>(dims[1]);
  const auto kept = static_cast<std::size_t>(std::min(rows, dims[1]));
  dims[1] = rows;
  Literal first(x.dtype(), dims);
  std::memcpy(first.bytes().data(), x.bytes().data(), kept * bytes);
  return first;
}

NamedValues only(const NamedValues& values, const std::vector<std::string>& names) {
  NamedValues kept;
  for (const std::string& name : names) kept.insert(*values.find(name));
  return kept;
}

// Convolutions of other numbers of places may round differently.
void expect_shapes_alike(const Literal& a, const Literal& b, int64_t rows) {
  const Literal mine = first_rows(a, rows), other = first_rows(b, rows);
  ASSERT_EQ(mine.dims(), other.dims());
  const auto [least, most] =
      std::minmax_element(mine.values<float>().begin(), mine.values<float>().end());
  EXPECT_GT(*most - *least, 0.1F) << "all values are equal";
  const float limit = 1e-5F * std::max({1.0F, *most, -*least});
  for (int64_t i = 0; i < mine.count(); ++i)
    ASSERT_NEAR(mine.values<float>()[i], other.values<float>()[i], limit) << i;
}

TEST_P(ShapeHeads, PartsOfAPredictionGiveTheWhole) {
  const NamedValues inputs = picture(), all = predicted(Predicts::all, inputs);
  const int64_t found = all.at("count").integers()[0];
  ASSERT_GE(found, 3);
  ASSERT_LT(found, all.at("boxes").dims()[1]) << "there is no empty place";
  const NamedValues boxes = predicted(Predicts::boxes, inputs);
  EXPECT_EQ(boxes, only(all, {"boxes", "scores", "classes", "count"}));
  const NamedValues maps = predicted(Predicts::maps, only(inputs, {"data"}));
  const NamedValues both = predicted(Predicts::boxes_and_maps, inputs);
  EXPECT_EQ(both.size(), boxes.size() + maps.size());
  for (const NamedValues* part : {&boxes, &maps})
    for (const auto& [name, value] : *part) EXPECT_EQ(both.at(name), value) << name;

  for (const int64_t places : {found, found + 5, found - 1}) {
    SCOPED_TRACE(join(places, " places"));
    NamedValues fed = maps;
    fed["im_info"] = inputs.at("im_info");
    for (const char* name : {"boxes", "classes"}) fed[name] = first_rows(all.at(name), places);
    const NamedValues shapes = predicted(Predicts::shapes, fed, places);
    EXPECT_EQ(shapes.size(), all.size() - boxes.size());
    for (const auto& [name, value] : shapes)
      expect_shapes_alike(all.at(name), value, std::min(found, places));
  }
}

// Candidates of all classes have neither masks nor heatmaps.
TEST_P(ShapeHeads, CandidatesComeWithMapsAlone) {
  const NamedValues inputs = picture();
  const NamedValues candidates = predicted(Predicts::all, inputs, 0, true);
  EXPECT_EQ(candidates.size(), 2U) << "boxes and scores";
  EXPECT_EQ(predicted(Predicts::boxes_and_maps, inputs, 0, true).size(),
            2U + predicted(Predicts::maps, only(inputs, {"data"})).size());
}

TEST_P(ShapeHeads, EmptyPlacesAreZeros) {
  const NamedValues all = predicted(Predicts::all, picture());
  const int64_t found = all.at("count").integers()[0];
  int heads = 0;
  for (const char* name : {"masks", "heatmaps"}) {
    if (!all.contains(name)) continue;
    ++heads;
    const Literal& value = all.at(name);
    EXPECT_EQ(value.dims()[1], all.at("boxes").dims()[1]);
    const int64_t row = value.count() / value.dims()[1];
    for (int64_t i = 0; i < value.count(); ++i) {
      const float each = value.values<float>()[i];
      ASSERT_TRUE(std::isfinite(each));
      ASSERT_TRUE(i < found * row || each == 0) << i;
      ASSERT_TRUE(std::string(name) == "heatmaps" || (each >= 0 && each <= 1)) << i;
    }
  }
  EXPECT_GE(heads, 1);
}

// The losses and gradients of a step by name. Only the first picture has an object, if any. The
// losses of replicas are added.
NamedValues results_of_step(SmallDetector& detector, bool has_objects) {
  const TrainingModel& model = detector.model;
  std::map<std::string, Literal> fed;
  Feeds feeds(model);
  for (const StepInput& input : model.inputs) {
    if (input.role != Role::data) continue;
    const TensorType& type = model.step.type(model.step.at(input.values[0]));
    Dims dims = to_dims(type.shape);
    dims[0] *= model.replicas;
    fed[input.name] = Literal(type.dtype, dims);
  }
  const std::array<float, 4> object{10, 20, 60, 80};
  const std::array<float, 3> extent{96, 128, 1};
  for (int64_t i = 0; i < fed.at("im_info").count(); ++i)
    view_of(fed.at("im_info")).as<float>()[i] = extent[static_cast<std::size_t>(i % 3)];
  if (has_objects) {
    std::copy(object.begin(), object.end(), view_of(fed.at("gt_boxes")).as<float>());
    view_of(fed.at("gt_classes")).as<int64_t>()[0] = 2;
  }
  PhiloxSequence random(5, 0);
  for (int64_t i = 0; i < fed.at("data").count(); ++i)
    view_of(fed.at("data")).as<float>()[i] = static_cast<float>(random.below(200)) - 100;
  ShapeFeeds shapes(model);
  shapes.feed(view_of(fed.at("gt_boxes")), feeds);
  for (const auto& [name, value] : fed)
    if (name != "gt_vertices" && name != "gt_vertex_of" && name != "gt_keypoints")
      feeds.set(name, view_of(value));
  feeds.set(Role::rate, 0.0F);
  if (feeds.has(Role::correction)) feeds.set(Role::correction, 1);

  std::vector<std::string> names, fetches;
  for (const Replicated& loss : model.losses)
    for (const std::string& value : loss.values) {
      names.push_back(loss.name);
      fetches.push_back(value);
    }
  for (const Replicated& gradient : model.gradients) {
    names.push_back(gradient.name);
    fetches.push_back(gradient.values[0]);
  }
  const auto program = detector.session.program(model.step, model.feed_values(), fetches, {});
  const auto results = program->run(feeds.tensors(), detector.session.run_options(1));
  NamedValues values;
  for (std::size_t i = 0; i < names.size(); ++i) {
    Literal value(results[i].desc.dtype, results[i].desc.dims);
    std::memcpy(value.bytes().data(), results[i].data, value.bytes().size());
    const auto [first, is_first] = values.emplace(names[i], value);
    if (!is_first) view_of(first->second).as<float>()[0] += value.values<float>()[0];
  }
  return values;
}

double largest(const Literal& value) {
  double most = 0;
  for (const float each : value.values<float>()) most = std::max<double>(most, std::abs(each));
  return most;
}

bool is_of_shapes(const std::string& name) {
  return name.find("mask") != std::string::npos || name.find("kps") != std::string::npos ||
         name.find("pose") != std::string::npos || name.find("conv_fcn") != std::string::npos;
}

TEST_P(ShapeHeads, AStepWithoutObjectsHasNoLossAndFiniteGradients) {
  const NamedValues with = results_of_step(detector_, true);
  const NamedValues without = results_of_step(detector_, false);
  int losses = 0, gradients = 0;
  for (const auto& [name, value] : without) {
    for (const NamedValues* step : {&with, &without})
      for (const float each : step->at(name).values<float>()) ASSERT_TRUE(std::isfinite(each));
    if (!is_of_shapes(name)) continue;
    EXPECT_EQ(largest(value), 0) << name;
    EXPECT_GT(largest(with.at(name)), 0) << name;
    ++(value.dims().empty() ? losses : gradients);
  }
  EXPECT_GE(losses, 1);
  EXPECT_GE(gradients, 4);
}

INSTANTIATE_TEST_SUITE_P(Models, ShapeHeads, ::testing::ValuesIn(shape_models()),
                         [](const auto& info) { return info.param.name; });

// A sum over visible points divided by a constant, or by their number.
TEST(ShapeLosses, KeypointsAreDividedByAConstantIfWished) {
  SmallDetector mean(small_detector_config(kSmallKeypoints));
  SmallDetector sum(
      small_detector_config(kSmallKeypoints, {"KRCNN.NORMALIZE_BY_VISIBLE_KEYPOINTS", "False"}));
  const NamedValues by_visible = results_of_step(mean, true), by_all = results_of_step(sum, true);
  ASSERT_EQ(by_all.count("loss_kps"), 0U);
  const float mean_of_visible = by_visible.at("loss_kps").values<float>()[0];
  const float over_constant = by_all.at("loss_kps_normalized").values<float>()[0];
  // At most 16 of 64 RoIs are objects, with 5 points each.
  const float visible = over_constant / mean_of_visible * (16 * 5);
  EXPECT_GT(visible, 0.5F);
  EXPECT_NEAR(visible, std::round(visible), 1e-3F);
}

TEST(ShapeLosses, HaveTheirWeights) {
  const std::string both = kSmallMask + kSmallKeypointHead;
  SmallDetector plain(small_detector_config(both));
  SmallDetector weighted(
      small_detector_config(both, {"MRCNN.WEIGHT_LOSS_MASK", "0.5", "KRCNN.LOSS_WEIGHT", "3"}));
  const NamedValues one = results_of_step(plain, true), other = results_of_step(weighted, true);
  for (const auto& [name, factor] :
       {std::pair<const char*, float>{"loss_mask", 0.5F}, {"loss_kps", 3}}) {
    const float loss = one.at(name).values<float>()[0];
    EXPECT_NEAR(other.at(name).values<float>()[0], factor * loss, 1e-5F * loss) << name;
  }
}

// The mean over the objects of all replicas, or of each replica's own mean.
TEST(ShapeLosses, AReplicaWithoutObjectsCountsIfWished) {
  const std::string both = kSmallMask + kSmallKeypointHead;
  SmallDetector one(small_detector_config(both));
  const NamedValues alone = results_of_step(one, true);
  for (const auto& [shared, part] : {std::pair<const char*, float>{"true", 1}, {"false", 0.5F}}) {
    SCOPED_TRACE(join("TRAIN.SHARED_NORMALISERS ", shared));
    SmallDetector two(
        small_detector_config(both, {"DEVICES", "cpu*2", "TRAIN.SHARED_NORMALISERS", shared}));
    const NamedValues together = results_of_step(two, true);
    for (const char* name : {"loss_mask", "loss_kps"}) {
      const float loss = alone.at(name).values<float>()[0];
      EXPECT_GT(loss, 0) << name;
      EXPECT_NEAR(together.at(name).values<float>()[0], part * loss, 1e-5F * loss) << name;
    }
    for (const auto& [name, value] : together)
      for (const float each : value.values<float>()) ASSERT_TRUE(std::isfinite(each)) << name;
  }
}

// Options without a configuration's checks.
TEST(ShapeLosses, OptionsThatDoNotFitAreRefusedByKey) {
  const auto refused = [](const std::string& model, const std::vector<std::string>& words,
                          const auto& change, const auto&... parts) {
    DetectorOptions options = small_detector_config(model, words).network;
    options.shape.height = options.shape.width = 64;
    change(options);
    expect_error([&] { build_data_parallel_model(all_ops(), detector(options), MomentumSgd{}); },
                 parts...);
  };
  refused(
      kSmallMask, {}, [](DetectorOptions& o) { o.mrcnn.resolution = 9; }, "MRCNN.RESOLUTION is 9",
      "predicts maps");
  refused(
      kSmallMask, {}, [](DetectorOptions& o) { o.mrcnn.roi_mask_head = "v1up"; },
      "MRCNN.ROI_MASK_HEAD: no function 'v1up'");
  refused(
      kSmallMask, {},
      [](DetectorOptions& o) {
        o.mrcnn.roi_mask_head = "mask_rcnn_heads.mask_rcnn_fcn_head_v0upshare";
      },
      "shares stage 5 with the box head", "FAST_RCNN.ROI_BOX_HEAD");
  refused(
      kSmallMask, {}, [](DetectorOptions& o) { o.mrcnn.roi_xform_method = "RoIPoolF"; },
      "MRCNN.ROI_XFORM_METHOD", "RoIAlign");
  refused(
      kSmallMask, {}, [](DetectorOptions& o) { o.train.fg_fraction = 0; }, "TRAIN.FG_FRACTION 0");
  refused(
      kSmallKeypoints, {}, [](DetectorOptions& o) { o.krcnn.heatmap_size = 20; },
      "KRCNN.HEATMAP_SIZE is 20");
  refused(
      kSmallKeypoints, {}, [](DetectorOptions& o) { o.krcnn.num_keypoints = 0; },
      "KRCNN.NUM_KEYPOINTS");
  refused(
      kSmallRpn, {}, [](DetectorOptions& o) { o.model.mask_on = true; }, "MODEL.MASK_ON is true",
      "MODEL.RPN_ONLY");
  refused(
      kSmallRetinaNet, {}, [](DetectorOptions& o) { o.model.keypoints_on = true; },
      "MODEL.KEYPOINTS_ON is true", "retinanet");
  refused(
      kSmallMask, {}, [](DetectorOptions& o) { o.test.predicts = Predicts::shapes; },
      "shape_places is 0");
  refused(
      kSmallFaster, {}, [](DetectorOptions& o) { o.test.predicts = Predicts::shapes; },
      "no head of masks or keypoints");
}

}  // namespace
}  // namespace lockstep::testing
