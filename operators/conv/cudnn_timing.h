// SPDX-License-Identifier: Apache-2.0
// Timing engines on the current device.
#pragma once

#include "operators/conv/cudnn_engines.h"

namespace lockstep {

// Runs a plan on the tensors of `data`.
void run_plan(const CudnnPlan& plan, cudaStream_t stream, const ConvolutionData& data,
              void* workspace);

struct FastestEngine {
  CudnnPlan plan;
  int timed = 0;  // the number of engines that ran
};

// Times the first `most` engines that include the epilogue and the first `most` that leave it,
// together with the epilogue, on private buffers. Returns the fastest. Throws if none runs.
FastestEngine fastest_of(CudnnEngines& engines, const Convolution& convolution,
                         const Epilogue& epilogue, int most);

}  // namespace lockstep
