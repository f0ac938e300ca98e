// SPDX-License-Identifier: Apache-2.0
#include "models/detection/inputs.h"

#include <algorithm>

#include "models/detection/detector.h"

namespace lockstep {
namespace {

constexpr int64_t kStrideOfBody = 32;

int64_t whole_cells(int64_t pixels, int64_t stride) {
  return (pixels + stride - 1) / stride * stride;
}

int64_t images_of(const Net& net, const DetectorOptions& options) {
  return net.training() ? options.train.ims_per_batch : 1;
}

}  // namespace

int64_t input_stride(const DetectorOptions& options) {
  return options.fpn.fpn_on ? options.fpn.coarsest_stride : kStrideOfBody;
}

bool takes_proposals(const DetectorOptions& options) {
  return !options.rpn.rpn_on && !options.retinanet.retinanet_on;
}

bool takes_outlines(const DetectorOptions& options) {
  return options.model.mask_on && has_box_head(options);
}

bool takes_keypoints(const DetectorOptions& options) {
  return options.model.keypoints_on && has_box_head(options);
}

InputSize input_size(const DetectorOptions& options, Mode mode) {
  const int64_t stride = input_stride(options);
  const DetectionShape& shape = options.shape;
  if (shape.height > 0 || shape.width > 0) {
    check(shape.height > 0 && shape.width > 0 && shape.height % stride == 0 &&
              shape.width % stride == 0,
          "IMAGE ", shape.height, "x", shape.width, ": height and width should be multiples of ",
          stride, ", the coarsest stride");
    return {shape.height, shape.width};
  }
  const bool training = mode == Mode::train;
  const std::vector<int64_t>& scales = options.train.scales;
  check(!training || !scales.empty(), "TRAIN.SCALES is empty");
  const int64_t shorter =
      training ? *std::max_element(scales.begin(), scales.end()) : options.test.scale;
  const int64_t longer =
      std::max(shorter, training ? options.train.max_size : options.test.max_size);
  return {whole_cells(shorter, stride), whole_cells(longer, stride)};
}

Value image_input(Net& net, const DetectorOptions& options) {
  const int64_t images = images_of(net, options);
  if (!net.training() && options.shape.open)
    return net.input("data", {DType::float32, {images, 3, "height", "width"}});
  const InputSize size = input_size(options, net.mode);
  return net.input("data", {DType::float32, {images, 3, size.height, size.width}});
}

DetectorInputs detector_inputs(Net& net, const DetectorOptions& options) {
  const bool training = net.training();
  DetectorInputs in;
  in.images = images_of(net, options);
  const auto input = [&](const char* name, DType dtype, std::vector<int64_t> dims) {
    dims.insert(dims.begin(), in.images);
    return net.input(name, {dtype, to_shape(dims)});
  };
  in.data = image_input(net, options);
  in.im_info = input("im_info", DType::float32, {3});
  const DetectionShape& shape = options.shape;
  if (training) {
    in.image_number = input("image_number", DType::int64, {});
    in.truth.boxes = input("gt_boxes", DType::float32, {shape.true_boxes, 4});
    in.truth.classes = input("gt_classes", DType::int64, {shape.true_boxes});
    in.truth.crowd = input("gt_crowd", DType::int64, {shape.true_boxes});
  }
  if (training && takes_outlines(options)) {
    in.shapes.vertices = input("gt_vertices", DType::float32, {shape.vertices, 2});
    in.shapes.vertex_of = input("gt_vertex_of", DType::int64, {shape.vertices, 2});
  }
  if (training && takes_keypoints(options))
    in.shapes.keypoints =
        input("gt_keypoints", DType::float32, {shape.true_boxes, options.krcnn.num_keypoints, 3});
  if (takes_proposals(options))
    in.proposals =
        PictureBoxes(input("proposals", DType::float32,
                           {training ? shape.proposals : options.test.proposal_limit, 4}));
  return in;
}

}  // namespace lockstep
