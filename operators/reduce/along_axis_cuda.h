// SPDX-License-Identifier: Apache-2.0
// GPU kernels of reductions along one axis.
#pragma once

#include <type_traits>
#include <vector>

#include "operators/kit/elements_cuda.h"

namespace lockstep {

template <class T>
using Accumulator = std::conditional_t<std::is_floating_point_v<T>, double, T>;

std::vector<KernelEntry> along_axis_cuda();

}  // namespace lockstep
