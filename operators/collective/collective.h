// SPDX-License-Identifier: Apache-2.0
// Communication between replicas. A collective is one node with a value per replica. Every worker
// with one of its outputs runs a part of the node.
#pragma once

#include <string>
#include <vector>

#include "lockstep/graph.h"
#include "lockstep/kernel.h"
#include "lockstep/op.h"
#include "lockstep/operators.h"

namespace lockstep {

// The order of summation. `replicas`: the same bits for every placement and for any number of
// tensors in one sum. `any`: the fastest order, with reproducible bits on one machine; CPU replicas
// use the order `replicas` in this case, too.
enum class SumOrder { replicas, any };

struct AllReduceAttrs {
  Reduction reduction = Reduction::sum;
  // float16 or bfloat16: the element type in transit. The result is rounded to this type, too. Sums
  // in the order of replicas are computed in float32. undefined: no conversion.
  DType wire = DType::undefined;
  SumOrder order = SumOrder::replicas;

  AllReduceAttrs(Reduction reduction = Reduction::sum,  // NOLINT: converts
                 DType wire = DType::undefined, SumOrder order = SumOrder::replicas)
      : reduction(reduction), wire(wire), order(order) {}
};
AllReduceAttrs read_all_reduce(AttributeReader attributes);

// Parses and writes "", float16 or bfloat16, as in files and configurations.
DType parse_wire(const std::string& text);
std::string text_of_wire(DType wire);
// Throws if `dtype` cannot be sent as `wire`.
void check_wire(DType wire, DType dtype);

// Receives one value per replica and gives the same sum on every replica. Elements are added in the
// order of the operands, so the result does not depend on timing. `replicas` gives the replica of
// each operand; default 0, 1, ..
std::vector<Value> all_reduce(Graph& graph, const std::vector<Value>& values,
                              const AllReduceAttrs& attrs, const std::vector<std::string>& names,
                              const Site& site = {}, const std::vector<int>& replicas = {});

// The path of a broadcast. `straight`: every replica copies from the first. `any`: the fastest
// path; on several GPUs NCCL passes the value from GPU to GPU. Both give the same bits.
enum class BroadcastPath { straight, any };
BroadcastPath read_broadcast(AttributeReader attributes);
// Copies `value` to replicas 0 .. names.size() - 1, or to `replicas`. The first of these replicas
// has `value`.
std::vector<Value> broadcast(Graph& graph, Value value, const std::vector<std::string>& names,
                             const Site& site = {}, BroadcastPath path = BroadcastPath::straight,
                             const std::vector<int>& replicas = {});
// All values concatenated along their first dimension, on every replica.
struct AllGatherAttrs {
  int64_t of = 1;        // the number of values; a graph of one replica has only the first
  std::string why = "";  // a note for readers of the graph or its plan
};
AllGatherAttrs read_all_gather(AttributeReader attributes);
std::vector<Value> all_gather(Graph& graph, const std::vector<Value>& values,
                              const AllGatherAttrs& attrs, const std::vector<std::string>& names,
                              const Site& site = {});
// The first dimension of `count` concatenated values with first dimension `dim`.
Dim times(int64_t count, const Dim& dim);
// Copies another replica's value to the current replica.
Value copy(Graph& graph, Value value, const Site& site = {});

// The text of a plan that says how the replicas of one process access each other's values.
std::string reach_text(const KernelRequest& request);

std::vector<Op> collective_ops();
std::vector<KernelEntry> collective_cpu();
std::vector<KernelEntry> collective_cuda();

}  // namespace lockstep
