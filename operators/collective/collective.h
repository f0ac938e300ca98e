// Communication between replicas. A collective is one node with a value per replica; every worker
// that holds one of its outputs runs its part of it.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"
#include "graph/op.h"
#include "runtime/kernel.h"

namespace lockstep {

enum class Reduction { sum, mean };

// One value per replica in, the same result on every replica out: element by element in the order
// of the operands, so the result does not depend on timing.
std::vector<Value> all_reduce(Graph& graph, const std::vector<Value>& values, Reduction reduction,
                              const std::vector<std::string>& names, const Site& site = {});
// A copy of `value` on replicas 0 .. names.size() - 1.
std::vector<Value> broadcast(Graph& graph, Value value, const std::vector<std::string>& names,
                             const Site& site = {});
// A copy of a value of another replica, on the replica that is current.
Value copy(Graph& graph, Value value, const Site& site = {});

std::vector<Op> collective_ops();
std::vector<KernelEntry> collective_cpu();

}  // namespace lockstep
