// SPDX-License-Identifier: Apache-2.0
// Changes of a model's settings that make its step need less memory, each planned anew.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "app/model_source.h"
#include "lockstep/kernel.h"

namespace lockstep {

// "--batch 8 instead of 16: needs 9.8 GiB, which fits", for smaller batches, more micro-batches and
// 16-bit floats. Leaves out a change that the source does not take (the step of a file is built
// already) and one that needs as much as now. Batches are halved until the step fits `limit`.
// `kernels`: of the plan. `needs`: the bytes that the step needs now.
std::vector<std::string> memory_advice(const ModelRequest& request, bool inference,
                                       const std::vector<KernelTable>& kernels, std::size_t needs,
                                       std::size_t limit);

}  // namespace lockstep
