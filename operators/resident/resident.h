// SPDX-License-Identifier: Apache-2.0
// ResidentSlice: the minibatch that begins at row `index` of a batch that stays on its device.
//   (held [C, ..], index [], minibatch [b, 0]) -> rows index..index+b-1 of held, [b, ..]
// `minibatch` has no elements; its shape gives the number of rows, so that each number of rows has
// a plan.
#pragma once

#include <string>
#include <vector>

#include "lockstep/graph.h"
#include "lockstep/kernel.h"
#include "lockstep/op.h"

namespace lockstep {

Value slice_resident(Graph& graph, Value held, Value index, Value minibatch, const Site& site = {});

// "a minibatch of 4 rows at row 5 is not within the 6 rows of the batch"
std::string outside_resident(int64_t index, int64_t rows, int64_t held);

std::vector<Op> resident_ops();
std::vector<KernelEntry> resident_cpu();
std::vector<KernelEntry> resident_cuda();

}  // namespace lockstep
