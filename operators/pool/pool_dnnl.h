// SPDX-License-Identifier: Apache-2.0
// Pooling primitives of oneDNN 2 and 3.
#pragma once

#include "operators/kit/dnnl.h"

namespace lockstep {

// Primitives with dilation. oneDNN 2 has a second pair of primitives for dilation.
#if DNNL_VERSION_MAJOR >= 3
using DnnlPoolForward = dnnl::pooling_forward;
using DnnlPoolBackward = dnnl::pooling_backward;
#else
using DnnlPoolForward = dnnl::pooling_v2_forward;
using DnnlPoolBackward = dnnl::pooling_v2_backward;
#endif

}  // namespace lockstep
