// SPDX-License-Identifier: Apache-2.0
// The description of a convolution, in any of its passes, that implementations receive.
#pragma once

#include "operators/conv/conv2d.h"
#include "operators/conv/epilogue.h"
#include "operators/conv/pass.h"

namespace lockstep {

ConvPass pass_of(const Node& node);

// Refers to the tensors of its request.
struct ConvProblem {
  explicit ConvProblem(const KernelRequest& request);

  ConvPass pass;
  // The input, the filters and the result, or their gradients.
  const TensorDesc &x, &w, &y;
  Window window;  // with all defaults resolved
  int64_t group;
  ConvEpilogue epilogue;  // of a ConvGradX, too: the addition of z
  int threads;

  bool is_of_images() const { return x.dims.size() == 4; }
  // Valid for convolutions of images only.
  Conv2d conv2d() const;
};

}  // namespace lockstep
