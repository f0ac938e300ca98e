// The nodes of an all-reduce algorithm in place of a sum that is marked for it.
#pragma once

#include "builders/all_reduce/all_reduce.h"

namespace lockstep {

struct Algorithm {
  AllReduceRange range;
  DType wire = DType::undefined;  // as AllReduceOptions has it
  int64_t turn = 0;               // how many tensors it summed before
};
// In one replica's graph, of a flat value.
Value mark_for_expansion(Graph& one, Value flat, const Algorithm& algorithm,
                         const std::string& name);

// In the graph of all replicas.
Graph expand(Graph all, const AllReduceOptions& options);

// 0, 1, .. where the options name none.
std::vector<int> ring_order_of(const AllReduceOptions& options, int replicas);

}  // namespace lockstep
