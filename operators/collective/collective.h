// Communication between replicas. A collective is one node with a value per replica; every worker
// that holds one of its outputs runs its part of it.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"
#include "graph/op.h"
#include "runtime/kernel_table.h"

namespace lockstep {

enum class Reduction { sum, mean };

// In which order terms are added. That of replicas gives the same bits wherever they are and
// however many tensors are summed at once. Any: what is fastest where it runs, the same bits again
// on the same machine; CPU replicas keep to their order.
enum class SumOrder { replicas, any };

struct AllReduceAttrs {
  Reduction reduction = Reduction::sum;
  // float16 or bfloat16: what travels is rounded to it, and so is the result; sums in the order of
  // replicas are float32. undefined: everything travels as it is.
  DType wire = DType::undefined;
  SumOrder order = SumOrder::replicas;

  AllReduceAttrs(Reduction reduction = Reduction::sum,  // NOLINT: converts
                 DType wire = DType::undefined, SumOrder order = SumOrder::replicas)
      : reduction(reduction), wire(wire), order(order) {}
};
AllReduceAttrs read_all_reduce(AttributeReader attributes);

// "", float16 or bfloat16, as files and configurations have it.
DType parse_wire(const std::string& text);
std::string text_of_wire(DType wire);
// Throws when `dtype` cannot travel so.
void check_wire(DType wire, DType dtype);

// One value per replica in, the same result on every replica out: element by element in the order
// of the operands, so the result does not depend on timing.
std::vector<Value> all_reduce(Graph& graph, const std::vector<Value>& values,
                              const AllReduceAttrs& attrs, const std::vector<std::string>& names,
                              const Site& site = {});
// A copy of `value` on replicas 0 .. names.size() - 1.
std::vector<Value> broadcast(Graph& graph, Value value, const std::vector<std::string>& names,
                             const Site& site = {});
// A copy of a value of another replica, on the replica that is current.
Value copy(Graph& graph, Value value, const Site& site = {});

std::vector<Op> collective_ops();
std::vector<KernelEntry> collective_cpu();
std::vector<KernelEntry> collective_cuda();

}  // namespace lockstep
