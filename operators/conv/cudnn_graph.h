// A convolution in the words of cuDNN's graph API.
#pragma once

#include <deque>
#include <vector>

#include "operators/conv/cudnn_api.h"
#include "operators/conv/cudnn_convolution.h"

namespace lockstep {

struct DnnOperations {
  std::deque<Descriptor> parts;  // that the operations name
  std::vector<Descriptor> operations;
};

// What is done with a result at once goes through tensors that nobody writes to memory.
DnnOperations operations_of(const Convolution& convolution);

// Where each tensor of those operations lies.
Descriptor pointers_to(const Convolution& convolution, const ConvolutionData& data,
                       void* workspace);

// cuDNN has no convolutions of one spatial dimension: a second one of size 1 is put before it.
Convolution in_two_dimensions(Convolution convolution);

}  // namespace lockstep
