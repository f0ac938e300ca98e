// SPDX-License-Identifier: Apache-2.0
// Pooling by oneDNN, of either version.
#pragma once

#include "operators/kit/dnnl.h"

namespace lockstep {

// Pooling with dilation, for which version 2 has a second pair of primitives.
#if DNNL_VERSION_MAJOR >= 3
using DnnlPoolForward = dnnl::pooling_forward;
using DnnlPoolBackward = dnnl::pooling_backward;
#else
using DnnlPoolForward = dnnl::pooling_v2_forward;
using DnnlPoolBackward = dnnl::pooling_v2_backward;
#endif

}  // namespace lockstep
