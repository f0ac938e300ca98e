// SPDX-License-Identifier: Apache-2.0
// The inputs of a detector, for the images of one replica: see docs/detection.md.
#pragma once

#include "builders/detection/coordinates.h"
#include "lockstep/net.h"
#include "models/detection/options.h"
#include "operators/targets/targets.h"

namespace lockstep {

struct DetectorInputs {
  int64_t images = 1;
  Value data;              // [I, 3, height, width], multiples of input_stride
  Value im_info;           // [I, 3]: height and width of the image within data, and scale
  PictureBoxes proposals;  // [I, P, 4], boxes without area in empty slots; or none
  // Training:
  Value image_number;  // [I]
  TrueBoxes truth;     // in picture coordinates
  // Outlines for a network with a mask head, keypoints for a network with a keypoint head; else
  // none. Networks without a second stage have neither head.
  TrueShapes shapes;
};
DetectorInputs detector_inputs(Net& net, const DetectorOptions& options);
// Declares `data` alone.
Value image_input(Net& net, const DetectorOptions& options);

// True if proposals are fed, because the network has no RPN and is not a RetinaNet.
bool takes_proposals(const DetectorOptions& options);

// True if training reads the outlines of objects (MODEL.MASK_ON), or their keypoints
// (MODEL.KEYPOINTS_ON).
bool takes_outlines(const DetectorOptions& options);
bool takes_keypoints(const DetectorOptions& options);

// The stride of the coarsest feature map. Height and width of the input are multiples of this
// stride.
int64_t input_stride(const DetectorOptions& options);

// The input's size: options.shape, or the largest size that SCALES and MAX_SIZE allow, rounded up
// to whole cells of the coarsest feature map.
struct InputSize {
  int64_t height, width;
};
InputSize input_size(const DetectorOptions& options, Mode mode);

}  // namespace lockstep
