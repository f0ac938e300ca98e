// SPDX-License-Identifier: Apache-2.0
// U-Net (Ronneberger et al. 2015): a class for each pixel of a picture.
#pragma once

#include <cstdint>

#include "lockstep/model_files.h"

namespace lockstep {

struct UnetOptions {
  int64_t side = 224;  // height and width of the picture, a multiple of 2^depth
  int64_t classes = 2;
  int64_t width = 16;  // channels of the first level; each level has twice as many
  int64_t depth = 3;   // the number of times that the picture is halved
  uint64_t seed = 1;   // of the initial weights
};

// The network as a file would hold it: input `image`, float32 [N, 3, side, side]; output `scores`,
// [N, classes, side, side]; parameters are initializers. Convolutions keep the size, have batch
// norms in training mode, and transposed convolutions enlarge.
LoadedModel unet(const UnetOptions& options);

}  // namespace lockstep
