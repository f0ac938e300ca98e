// SPDX-License-Identifier: Apache-2.0
// Feature pyramids (Lin et al. 2016).
#pragma once

#include "models/detection/features.h"
#include "models/detection/options.h"

namespace lockstep {

// The pyramid's levels, on the stages' sums of a residual body (finest first).
Features feature_pyramid(Net& net, const DetectorOptions& options,
                         const std::vector<Feature>& stages);
// Only its finest level, level 2: one feature map.
Features finest_of_pyramid(Net& net, const DetectorOptions& options,
                           const std::vector<Feature>& stages);

// The levels that RPN and RoIs use.
struct PyramidLevels {
  int64_t first = 2, last = 5;
};
PyramidLevels pyramid_levels(const FpnOptions& options);

}  // namespace lockstep
