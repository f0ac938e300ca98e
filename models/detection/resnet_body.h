// SPDX-License-Identifier: Apache-2.0
// Residual bodies and heads of detectors, with Detectron's names and frozen normalisation.
#pragma once

#include <array>
#include <vector>

#include "lockstep/layers.h"
#include "models/detection/features.h"
#include "models/detection/options.h"
#include "models/detection/shared_layers.h"

namespace lockstep {

struct ResidualBody {
  std::array<int64_t, 4> blocks{};  // number of blocks in stages 2 to 5
  int64_t last_stage = 5;
};

// Builds a body and returns its maps, finest first. Bodies other than ResNets ignore `residual`.
using Body = std::vector<Feature> (*)(Net& net, const DetectorOptions& options,
                                      const ResidualBody& residual, Value data);

// The sums at the end of stages 2 to `last_stage`, finest first. Parameters up to TRAIN.FREEZE_AT
// are fixed.
std::vector<Feature> residual_body(Net& net, const DetectorOptions& options,
                                   const ResidualBody& body, Value data);

// Stage 5 on pooled RoIs. All calls share parameters, which the first call makes.
class ResidualHead {
 public:
  // `own` begins the names of the parameters and of the first call's values: "" or "_[mask]_".
  ResidualHead(Net& net, const DetectorOptions& options, const ResidualBody& body,
               std::string own = "");

  // The sums at the stage's end, [n, channels, ..], of pooled RoIs [n, C, r, r] with r =
  // `resolution`. `prefix` begins the names of a later call's values.
  Feature sums(const Feature& pooled, int64_t resolution, int64_t dilation = 1,
               const std::string& prefix = "");
  // The result of the first call, which another head may read, too.
  const Feature& first_sums() const { return first_; }

 private:
  const DetectorOptions& options_;
  const ResidualBody& body_;
  Net& net_;
  SharedLayers layers_;
  const std::string own_;
  Feature first_;
};
// The cells on each side of the sums; the stage divides them by a stride that leaves 7.
int64_t cells_after_stage_5(int64_t resolution);

// Checks RESNETS. Throws an error that names the wrong key.
void check_residual_options(const DetectorOptions& options);

// A convolution without bias and its group normalisation, <name>_gn.
Value group_norm_conv(Net& net, const GroupNormOptions& options, Value x, int64_t channels,
                      const ConvLayer& conv, const std::string& name);

// A ReLU with the name of its operand, which is renamed, like Detectron's in-place ReLUs.
Value relu_in_place(Net& net, Value x, const std::string& name);

}  // namespace lockstep
