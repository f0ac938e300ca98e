// SPDX-License-Identifier: Apache-2.0
// A convolution in cuDNN's graph API.
#pragma once

#include <deque>
#include <vector>

#include "operators/conv/cudnn_api.h"
#include "operators/conv/cudnn_convolution.h"

namespace lockstep {

struct DnnOperations {
  std::deque<Descriptor> parts;  // referenced by the operations
  std::vector<Descriptor> operations;
};

// The operations of a convolution. Intermediate results of fused operations are virtual tensors,
// which are never written to memory.
DnnOperations operations_of(const Convolution& convolution);

// The addresses of the operations' tensors.
Descriptor pointers_to(const Convolution& convolution, const ConvolutionData& data,
                       void* workspace);

// cuDNN has no one-dimensional convolutions: prepends a dimension of size 1.
Convolution in_two_dimensions(Convolution convolution);

}  // namespace lockstep
