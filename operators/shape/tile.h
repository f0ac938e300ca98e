// SPDX-License-Identifier: Apache-2.0
// The shape law and the gradient of Tile, for the table of shape.cc.
#pragma once

#include "operators/kit/operator_helpers.h"

namespace lockstep {

void tile_law(Inference& inference);
std::vector<Value> tile_gradient(const GradientRequest& request);

}  // namespace lockstep
