// SPDX-License-Identifier: Apache-2.0
// Feature pyramids (Lin et al. 2016).
#pragma once

#include "models/detection/features.h"
#include "models/detection/options.h"

namespace lockstep {

// The levels of a pyramid on `stages`, the sums of a residual body's stages (finest first).
Features feature_pyramid(Net& net, const DetectorOptions& options,
                         const std::vector<Feature>& stages);
// Only the pyramid's finest level, level 2, as a single feature map.
Features finest_of_pyramid(Net& net, const DetectorOptions& options,
                           const std::vector<Feature>& stages);

// The range of levels that RPN and RoIs use.
struct PyramidLevels {
  int64_t first = 2, last = 5;
};
PyramidLevels pyramid_levels(const FpnOptions& options);

}  // namespace lockstep
