// SPDX-License-Identifier: Apache-2.0
// A summary of a batch, for a log of what is trained on.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph/print.h"
#include "lockstep/tensor.h"

namespace lockstep {

// A line for each input: "obs float32[120,4]: from -2.1 to 3.4, mean 0.03". Values that are not
// finite are counted and left out: ", 3 not finite".
std::vector<std::string> summary_of(const std::map<std::string, Tensor>& inputs);

}  // namespace lockstep
