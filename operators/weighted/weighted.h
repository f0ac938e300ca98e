// SPDX-License-Identifier: Apache-2.0
// Tensors times numbers, under Caffe2's names. Scale multiplies by a constant, WeightedSum by
// one-element tensors.
#pragma once

#include <utility>
#include <vector>

#include "lockstep/graph.h"
#include "lockstep/kernel.h"
#include "lockstep/op.h"
#include "lockstep/operators.h"

namespace lockstep {

std::vector<Op> weighted_ops();
std::vector<KernelEntry> weighted_cpu();
std::vector<KernelEntry> weighted_cuda();

}  // namespace lockstep
