// SPDX-License-Identifier: Apache-2.0
// Communication between replicas. A collective is one node with a value per replica; every worker
// that holds one of its outputs runs a part of it.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"
#include "graph/op.h"
#include "runtime/kernel/table.h"

namespace lockstep {

enum class Reduction { sum, mean };

// The order of summation. `replicas`: the same bits on any placement and however many tensors are
// summed at once. `any`: the fastest order, the same bits again on the same machine; CPU replicas
// still use theirs.
enum class SumOrder { replicas, any };

struct AllReduceAttrs {
  Reduction reduction = Reduction::sum;
  // float16 or bfloat16: the element type in transit, to which the result is rounded, too; sums in
  // the order of replicas are float32. undefined: no conversion.
  DType wire = DType::undefined;
  SumOrder order = SumOrder::replicas;

  AllReduceAttrs(Reduction reduction = Reduction::sum,  // NOLINT: converts
                 DType wire = DType::undefined, SumOrder order = SumOrder::replicas)
      : reduction(reduction), wire(wire), order(order) {}
};
AllReduceAttrs read_all_reduce(AttributeReader attributes);

// "", float16 or bfloat16, as in files and configurations.
DType parse_wire(const std::string& text);
std::string text_of_wire(DType wire);
// Throws if `dtype` cannot be sent as `wire`.
void check_wire(DType wire, DType dtype);

// Takes one value per replica and gives the same sum on every replica. Elements are added in the
// order of the operands, so the result does not depend on timing. `replicas`: of each operand;
// default 0, 1, ..
std::vector<Value> all_reduce(Graph& graph, const std::vector<Value>& values,
                              const AllReduceAttrs& attrs, const std::vector<std::string>& names,
                              const Site& site = {}, const std::vector<int>& replicas = {});

// The way of a broadcast. `straight`: every replica copies from the first. `any`: the fastest; on
// several GPUs it passes from one to the next, by NCCL. The same bits.
enum class BroadcastPath { straight, any };
BroadcastPath read_broadcast(AttributeReader attributes);
// A copy of `value` on replicas 0 .. names.size() - 1, or on `replicas`. It is on the first of
// them.
std::vector<Value> broadcast(Graph& graph, Value value, const std::vector<std::string>& names,
                             const Site& site = {}, BroadcastPath path = BroadcastPath::straight,
                             const std::vector<int>& replicas = {});
// All values one after the other along their first dimension, on every replica.
struct AllGatherAttrs {
  int64_t of = 1;        // the number of values; a graph of one replica has only the first
  std::string why = "";  // a text for those who read the graph or its plan
};
AllGatherAttrs read_all_gather(AttributeReader attributes);
std::vector<Value> all_gather(Graph& graph, const std::vector<Value>& values,
                              const AllGatherAttrs& attrs, const std::vector<std::string>& names,
                              const Site& site = {});
// The dimension of so many values of this one, one after the other.
Dim times(int64_t count, const Dim& dim);
// A copy of another replica's value, on the current replica.
Value copy(Graph& graph, Value value, const Site& site = {});

// For a plan: where the replicas of one process reach each other's values.
std::string reach_text(const KernelRequest& request);

std::vector<Op> collective_ops();
std::vector<KernelEntry> collective_cpu();
std::vector<KernelEntry> collective_cuda();

}  // namespace lockstep
