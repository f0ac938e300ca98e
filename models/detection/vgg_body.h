// SPDX-License-Identifier: Apache-2.0
// VGG bodies of detectors (Simonyan and Zisserman 2014; Chatfield et al. 2014), with Detectron's
// names.
#pragma once

#include "models/detection/resnet_body.h"

namespace lockstep {

// Returns the last map, of stride 16. The convolutions that Detectron fixes are fixed unless
// TRAIN.FREEZE_AT is 0; above 2, TRAIN.FREEZE_AT is the number of the last fixed stage.
std::vector<Feature> vgg16_body(Net& net, const DetectorOptions& options, const ResidualBody&,
                                Value data);
std::vector<Feature> vgg_m_body(Net& net, const DetectorOptions& options, const ResidualBody&,
                                Value data);

// Channels of a layer, or outputs of a fully connected layer, of a VGG.
int64_t vgg_width(const DetectorOptions& options, int64_t published);

}  // namespace lockstep
