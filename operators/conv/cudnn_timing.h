// SPDX-License-Identifier: Apache-2.0
// Timing engines on the current device.
#pragma once

#include "operators/conv/cudnn_engines.h"

namespace lockstep {

// The addresses of a convolution's tensors are `data`'s.
void run_plan(const CudnnPlan& plan, cudaStream_t stream, const ConvolutionData& data,
              void* workspace);

struct FastestEngine {
  CudnnPlan plan;
  int timed = 0;  // the number of engines that ran
};

// Of the first `most` engines that do everything, and as many that leave the epilogue, the fastest
// one, timed on its own memory together with what it leaves. Throws if none runs.
FastestEngine fastest_of(CudnnEngines& engines, const Convolution& convolution,
                         const Epilogue& epilogue, int most);

}  // namespace lockstep
