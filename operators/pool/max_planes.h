// SPDX-License-Identifier: Apache-2.0
// Maxima over windows of row-major planes, for which oneDNN has only plain code; it is fast where
// channels lie in blocks. The first of equals is the maximum, and NaN is above all.
#pragma once

#include "runtime/kernel/table.h"

namespace lockstep {

// Refuses channel blocks, and all but two spatial dimensions without dilation.
std::string not_row_major_planes(const KernelRequest& request);

std::unique_ptr<Kernel> max_of_planes(const KernelRequest& request);
std::unique_ptr<Kernel> max_of_planes_grad(const KernelRequest& request);

}  // namespace lockstep
