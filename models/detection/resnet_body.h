// SPDX-License-Identifier: Apache-2.0
// Residual bodies and heads of detectors, with Detectron's names and frozen normalisation.
#pragma once

#include <array>
#include <vector>

#include "builders/net/layers.h"
#include "models/detection/features.h"
#include "models/detection/options.h"

namespace lockstep {

struct ResidualBody {
  std::array<int64_t, 4> blocks{};  // of stages 2 to 5
  int64_t last_stage = 5;
};

// A body's maps, finest first. Bodies that are no ResNets have no use for `residual`.
using Body = std::vector<Feature> (*)(Net& net, const DetectorOptions& options,
                                      const ResidualBody& residual, Value data);

// The sums at the end of stages 2 to `last_stage`, finest first. Parameters up to TRAIN.FREEZE_AT
// are fixed.
std::vector<Feature> residual_body(Net& net, const DetectorOptions& options,
                                   const ResidualBody& body, Value data);

// Stage 5 on pooled RoIs [n, C, r, r], then the mean over space: [n, channels, 1, 1].
Feature residual_roi_head(Net& net, const DetectorOptions& options, const ResidualBody& body,
                          const Feature& pooled, int64_t resolution);

// Checks RESNETS: throws naming the key that does not fit.
void check_residual_options(const DetectorOptions& options);

// A convolution without bias and its group normalisation, <name>_gn.
Value group_norm_conv(Net& net, const GroupNormOptions& options, Value x, int64_t channels,
                      const ConvLayer& conv, const std::string& name);

// A ReLU that takes over the name of its operand, as Detectron's do, which work in place.
Value relu_in_place(Net& net, Value x, const std::string& name);

}  // namespace lockstep
