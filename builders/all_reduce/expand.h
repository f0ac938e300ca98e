// SPDX-License-Identifier: Apache-2.0
// Replaces each marked sum by the nodes of its all-reduce algorithm.
#pragma once

#include "builders/all_reduce/all_reduce.h"

namespace lockstep {

struct Algorithm {
  AllReduceRange range;
  DType wire = DType::undefined;  // as in AllReduceOptions
  int64_t turn = 0;               // number of tensors summed before
};
// Marks the sum of a flat value in one replica's graph.
Value mark_for_expansion(Graph& one, Value flat, const Algorithm& algorithm,
                         const std::string& name);

// Replaces the marks in the graph of all replicas.
Graph expand(Graph all, const AllReduceOptions& options);

}  // namespace lockstep
