// SPDX-License-Identifier: Apache-2.0
// The implementations of convolutions on CPUs, in the order in which they are tried.
#pragma once

#include "lockstep/kernel.h"
#include "operators/conv/problem.h"

namespace lockstep {

// A method for some of the passes and types.
struct ConvImplementation {
  std::vector<ConvPass> passes;
  Refusal types;
  Candidate candidate;   // accepts a Conv, a FusedConv or a gradient
  bool is_exact = true;  // sums products of the unchanged operands, see KernelRequest::exact
  bool adds = false;     // supports the addition of a FusedConvGradX
};

const std::vector<ConvImplementation>& conv_implementations();

}  // namespace lockstep
