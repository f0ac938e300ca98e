// SPDX-License-Identifier: Apache-2.0
// Detectron's bilinear enlargement of maps: a transposed convolution whose parameters are fixed.
#pragma once

#include <vector>

#include "lockstep/net.h"

namespace lockstep {

// The weights [2 scale, 2 scale] that interpolate between neighbours at a distance of `scale`.
std::vector<float> bilinear_filter(int64_t scale);

// Enlarges maps [N, K, H, W] to [N, K, scale * H, scale * W]. The weight [K, K, 2 scale, 2 scale]
// has the filter for each channel and zeros between channels; the bias [K] is 0. Neither is
// trained. Inside, the result is a bilinear resize by half pixels. Outside a map are zeros: a
// constant map gets darker towards its border, which a resize would repeat instead. Throws unless
// the scale is even.
Value bilinear_layer(Net& net, Value x, int64_t scale, const Site& site);

}  // namespace lockstep
