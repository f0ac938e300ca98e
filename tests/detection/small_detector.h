// SPDX-License-Identifier: Apache-2.0
// A small detector for tests, on scenes cropped to many sizes.
#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <memory>

#include "app/detection/network.h"
#include "data/coco/masks.h"
#include "data/detection/picture_set.h"
#include "graph/file.h"
#include "lockstep/data_parallel.h"
#include "lockstep/operators.h"
#include "lockstep/processes.h"
#include "lockstep/random.h"
#include "lockstep/session.h"
#include "tests/detection/shape_feeds.h"
#include "tests/support/temporary_folder.h"

namespace lockstep::testing {

inline constexpr const char* kSmallBody = R"(DEVICES: cpu
RESNETS: {TRANS_FUNC: basic_transformation, STEM_OUT_CHANNELS: 8, RES2_OUT_CHANNELS: 8}
FPN: {FPN_ON: True, MULTILEVEL_RPN: True, DIM: 16, RPN_ANCHOR_START_SIZE: 16}
TRAIN: {SCALES: [96], MAX_SIZE: 160, IMS_PER_BATCH: 1, RPN_PRE_NMS_TOP_N: 100, RPN_POST_NMS_TOP_N: 30}
TEST: {SCALE: 96, MAX_SIZE: 160, SCORE_THRESH: 0.01, DETECTIONS_PER_IM: 20, RPN_PRE_NMS_TOP_N: 100, RPN_POST_NMS_TOP_N: 30, PROPOSAL_LIMIT: 40}
)";
inline const std::string kSmallHead =
    "FPN.MULTILEVEL_ROIS: True\n"
    "FAST_RCNN: {ROI_BOX_HEAD: fast_rcnn_heads.add_roi_2mlp_head, MLP_HEAD_DIM: 32, "
    "ROI_XFORM_METHOD: RoIAlign, ROI_XFORM_RESOLUTION: 4, ROI_XFORM_SAMPLING_RATIO: 2}\n";
inline const std::string kSmallModel =
    "CONV_BODY: FPN.add_fpn_ResNet18_conv5_body, NUM_CLASSES: 5, ";
inline const std::string kSmallFaster =
    "MODEL: {TYPE: generalized_rcnn, " + kSmallModel + "FASTER_RCNN: True}\n" + kSmallHead;
inline const std::string kSmallFast = "MODEL: {TYPE: generalized_rcnn, " + kSmallModel +
                                      "FASTER_RCNN: False}\n" + kSmallHead +
                                      "TRAIN.PROPOSAL_FILES: [proposals.safetensors]\n";
inline const std::string kSmallRpn =
    "MODEL: {TYPE: generalized_rcnn, " + kSmallModel + "RPN_ONLY: True}\n";
inline const std::string kSmallRetinaNet = "MODEL: {TYPE: retinanet, " + kSmallModel +
                                           "}\nRETINANET: {RETINANET_ON: True, NUM_CONVS: 1, "
                                           "INFERENCE_TH: 0}\n";

inline const std::string kSmallMaskHead =
    "MODEL.MASK_ON: True\n"
    "MRCNN: {ROI_MASK_HEAD: mask_rcnn_heads.mask_rcnn_fcn_head_v1up4convs, RESOLUTION: 8, "
    "ROI_XFORM_RESOLUTION: 4, ROI_XFORM_SAMPLING_RATIO: 2, DIM_REDUCED: 8, DILATION: 1, "
    "CONV_INIT: MSRAFill}\n";
inline const std::string kSmallKeypointHead =
    "MODEL.KEYPOINTS_ON: True\n"
    "KRCNN: {ROI_KEYPOINTS_HEAD: keypoint_rcnn_heads.add_roi_pose_head_v1convX, "
    "NUM_KEYPOINTS: 5, HEATMAP_SIZE: 16, UP_SCALE: 2, USE_DECONV_OUTPUT: True, CONV_HEAD_DIM: 8, "
    "NUM_STACKED_CONVS: 2, ROI_XFORM_RESOLUTION: 4, ROI_XFORM_SAMPLING_RATIO: 2, CONV_INIT: "
    "MSRAFill}\n";
inline const std::string kSmallMask = kSmallFaster + kSmallMaskHead;
inline const std::string kSmallKeypoints = kSmallFaster + kSmallKeypointHead;
// Stage 5 as each head; the masks' is the boxes'. The body has one map.
inline const std::string kSmallStage5 =
    "MODEL: {TYPE: generalized_rcnn, CONV_BODY: ResNet.add_ResNet18_conv4_body, NUM_CLASSES: 5, "
    "FASTER_RCNN: True, MASK_ON: True, KEYPOINTS_ON: True}\n"
    "FAST_RCNN: {ROI_BOX_HEAD: ResNet.add_ResNet_roi_conv5_head, ROI_XFORM_METHOD: RoIAlign, "
    "ROI_XFORM_RESOLUTION: 4, ROI_XFORM_SAMPLING_RATIO: 2}\n"
    "MRCNN: {ROI_MASK_HEAD: mask_rcnn_heads.mask_rcnn_fcn_head_v0upshare, RESOLUTION: 8, "
    "ROI_XFORM_RESOLUTION: 4, ROI_XFORM_SAMPLING_RATIO: 2, DIM_REDUCED: 8, DILATION: 1}\n"
    "KRCNN: {ROI_KEYPOINTS_HEAD: keypoint_rcnn_heads.add_ResNet_roi_conv5_head_for_keypoints, "
    "NUM_KEYPOINTS: 5, HEATMAP_SIZE: 8, USE_DECONV: True, DECONV_DIM: 8, ROI_XFORM_RESOLUTION: "
    "4, ROI_XFORM_SAMPLING_RATIO: 2}\n";
// The keys of kSmallBody that differ for a body with one map.
inline const std::vector<std::string> kOneMap{"FPN.FPN_ON", "False",     "FPN.MULTILEVEL_RPN",
                                              "False",      "RPN.SIZES", "(16, 32, 64)"};

inline DetectorConfig small_detector_config(const std::string& model,
                                            const std::vector<std::string>& words = {},
                                            int processes = 1) {
  const TemporaryFolder folder;
  write_file(folder / "small.yaml", model + kSmallBody);
  return read_detector_config(config_files(folder / "small.yaml"), words, processes);
}

// A detector with initial parameters. With several processes, it has this process's part.
struct SmallDetector {
  DetectorConfig config;
  TrainingModel model;
  Session session;

  explicit SmallDetector(const DetectorConfig& of, Comm* comm = nullptr, int threads = 1,
                         const std::vector<KernelTable>& kernels = all_kernels())
      : config(of),
        model(comm ? partition(detector_step(config, {96, 128}, comm->size()),
                               {comm->rank(), comm->size()})
                   : detector_step(config, {96, 128})),
        session(model, config.run.devices.list, kernels,
                {.seed = 3, .threads = threads, .comm = comm}) {
    session.initialise();
  }

  // Trains on pictures of noise with one object each.
  void train(uint64_t step) {
    Feeds feeds(model);
    std::map<std::string, Literal> values;
    for (const StepInput& input : model.inputs) {
      if (input.role != Role::data) continue;
      const TensorType& type = model.step.type(model.step.at(input.values[0]));
      Dims dims = to_dims(type.shape);
      dims[0] *= model.replicas;
      values[input.name] = Literal(type.dtype, dims);
    }
    const auto fill = [&](const char* name, auto value_at) {
      Literal& literal = values.at(name);
      using Number = decltype(value_at(0, 0));
      auto* numbers = reinterpret_cast<Number*>(literal.bytes().data());
      const int64_t row = literal.count() / literal.dims()[0];
      for (int64_t i = 0; i < literal.count(); ++i) numbers[i] = value_at(i / row, i % row);
    };
    const std::array<float, 4> object{10, 20, 60, 80};
    const std::array<float, 3> extent{96, 128, 1};
    PhiloxSequence random(step, static_cast<uint64_t>(model.first_replica));
    fill("data", [&](int64_t, int64_t) { return static_cast<float>(random.below(200)) - 100; });
    fill("im_info", [&](int64_t, int64_t i) { return extent[static_cast<std::size_t>(i)]; });
    fill("gt_boxes",
         [&](int64_t, int64_t i) { return i < 4 ? object[static_cast<std::size_t>(i)] : 0.0F; });
    fill("gt_classes", [](int64_t, int64_t i) { return int64_t{i == 0}; });
    ShapeFeeds shapes(model);
    shapes.feed(view_of(values.at("gt_boxes")), feeds);
    for (const char* name : {"gt_vertices", "gt_vertex_of", "gt_keypoints"}) values.erase(name);
    for (const auto& [name, literal] : values) feeds.set(name, view_of(literal));
    feeds.set(Role::rate, 2e-4F);  // a network without normalisation
    if (feeds.has(Role::correction)) feeds.set(Role::correction, 1);
    session.run_step(feeds, step);
  }
};

// Scene n is cropped to its own size, one of a few or of many.
class CutScenes final : public PictureSet {
 public:
  explicit CutScenes(int64_t count, bool many_sizes = false) : scenes_({.count = count}) {
    table_ = scenes_.annotations();
    for (std::size_t i = 0; i < table_.images.size(); ++i) {
      const auto n = static_cast<int64_t>(i);
      table_.images[i].height = many_sizes ? 128 - 5 * n : 128 - 40 * (n % 3);
      table_.images[i].width = many_sizes ? 28 + 5 * n : 128 - 16 * (n % 2);
    }
    for (const CocoObject& object : table_.objects)
      if (object.mask >= 0) cut(table_.masks[object.mask], table_.images[object.image]);
  }
  const Annotations& annotations() const override { return table_; }
  Image picture(std::size_t number) const override {
    const Image scene = scenes_.picture(number);
    const CocoImage& size = table_.images[number];
    Image part{size.height, size.width, {}};
    for (int64_t y = 0; y < part.height; ++y) {
      const auto row = scene.rgb.begin() + 3 * y * scene.width;
      part.rgb.insert(part.rgb.end(), row, row + 3 * part.width);
    }
    return part;
  }

 private:
  static void cut(RunLengths& mask, const CocoImage& size) {
    const std::vector<uint8_t> pixels = bitmap_of(mask);
    std::vector<uint8_t> kept;
    for (int64_t y = 0; y < size.height; ++y) {
      const auto row = pixels.begin() + y * mask.width;
      kept.insert(kept.end(), row, row + size.width);
    }
    mask = mask_of_bitmap(kept, size.height, size.width);
  }

  ScenePictures scenes_;
  Annotations table_;
};

}  // namespace lockstep::testing
