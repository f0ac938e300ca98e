// SPDX-License-Identifier: Apache-2.0
// Resize: resamples images (tensors of any rank) by nearest, linear or cubic interpolation.
#pragma once

#include <vector>

#include "lockstep/graph.h"
#include "lockstep/kernel.h"
#include "lockstep/op.h"
#include "operators/resize/line.h"

namespace lockstep {

// Resizes images [N, C, H, W] to [N, C, height, width]. A pixel is a square around its position
// plus a half; positions outside the image repeat its border; cubic interpolation has the
// coefficient -0.75. These are the rules of PyTorch's interpolate() and OpenCV's resize(), which
// do not blur an image that becomes smaller, either.
Value resize_images(Graph& graph, Value x, int64_t height, int64_t width, ResizeMode mode,
                    const Site& site = {});

std::vector<Op> resize_ops();
std::vector<KernelEntry> resize_cpu();
std::vector<KernelEntry> resize_cuda();

}  // namespace lockstep
