// SPDX-License-Identifier: Apache-2.0
// Gradients of ScatterElements and ScatterND.
#pragma once

#include "lockstep/op.h"

namespace lockstep {

std::vector<Value> scatter_elements_gradient(const GradientRequest& request);
std::vector<Value> scatter_nd_gradient(const GradientRequest& request);

}  // namespace lockstep
