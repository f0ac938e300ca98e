// SPDX-License-Identifier: Apache-2.0
// Matrix products. Their gradients are the same operators with transposed operands.
#pragma once

#include <vector>

#include "lockstep/graph.h"
#include "lockstep/kernel.h"
#include "lockstep/op.h"
#include "lockstep/operators.h"

namespace lockstep {

GemmAttrs read_gemm(AttributeReader attributes);

std::vector<Op> gemm_ops();
std::vector<KernelEntry> gemm_cpu();
std::vector<KernelEntry> gemm_cuda();

}  // namespace lockstep
