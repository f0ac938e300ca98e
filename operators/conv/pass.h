// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace lockstep {

// The passes of a convolution: its result, or the gradient of its input or of its filters.
enum class ConvPass { forward, grad_x, grad_w };

}  // namespace lockstep
