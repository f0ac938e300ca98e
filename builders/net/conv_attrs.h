// SPDX-License-Identifier: Apache-2.0
// The attributes of a convolutional layer's operator.
#pragma once

#include "builders/net/conv_attrs.h"
#include "lockstep/layers.h"
#include "operators/conv/conv.h"

namespace lockstep {

ConvAttrs conv_attrs(const ConvLayer& options);

}  // namespace lockstep
