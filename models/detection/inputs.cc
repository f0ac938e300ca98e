// SPDX-License-Identifier: Apache-2.0
#include "models/detection/inputs.h"

#include <algorithm>

namespace lockstep {
namespace {

constexpr int64_t kStrideOfBody = 32;

int64_t whole_cells(int64_t pixels, int64_t stride) {
  return (pixels + stride - 1) / stride * stride;
}

}  // namespace

int64_t input_stride(const DetectorOptions& options) {
  return options.fpn.fpn_on ? options.fpn.coarsest_stride : kStrideOfBody;
}

bool takes_proposals(const DetectorOptions& options) {
  return !options.rpn.rpn_on && !options.retinanet.retinanet_on;
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

DetectorInputs detector_inputs(Net& net, const DetectorOptions& options) {
  const bool training = net.training();
  const InputSize size = input_size(options, net.mode);
  DetectorInputs in;
  in.images = training ? options.train.ims_per_batch : 1;
  const auto input = [&](const char* name, DType dtype, std::vector<int64_t> dims) {
    dims.insert(dims.begin(), in.images);
    return net.input(name, {dtype, to_shape(dims)});
  };
  in.data = input("data", DType::float32, {3, size.height, size.width});
  in.im_info = input("im_info", DType::float32, {3});
  if (training) {
    in.image_number = input("image_number", DType::int64, {});
    in.truth.boxes = input("gt_boxes", DType::float32, {options.shape.true_boxes, 4});
    in.truth.classes = input("gt_classes", DType::int64, {options.shape.true_boxes});
    in.truth.crowd = input("gt_crowd", DType::int64, {options.shape.true_boxes});
  }
  if (takes_proposals(options))
    in.proposals =
        PictureBoxes(input("proposals", DType::float32,
                           {training ? options.shape.proposals : options.test.proposal_limit, 4}));
  return in;
}

}  // namespace lockstep
