// Messages between the processes of a run. One global graph is cut into one graph for each process
// (builders/step/partition.h); where a value crosses from one to another there stand, with one
// number,
//   Send (x) -> sent            begins; x stays as it is until Sent
//   Sent (sent, x) -> done      waits until it is gone
//   Recv () -> y                waits until it is here
//   ProcessAllReduce (x) -> y   the sum of x over all processes
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"
#include "graph/op.h"
#include "operators/collective/collective.h"
#include "runtime/kernel_table.h"

namespace lockstep {

// Messages with different numbers never meet. `what` is named when one does not come.
struct Message {
  int peer = 0;
  int64_t number = 0;
  std::string what;
};

Value send(Graph& graph, Value x, const Message& message);
Value sent(Graph& graph, Value token, Value x, const Message& message);
Value recv(Graph& graph, const TensorType& type, const Message& message, const std::string& name);

struct ProcessAllReduceAttrs {
  int64_t number = 0;
  int64_t mean_of = 0;            // the sum is divided by it; 0: it is not
  DType wire = DType::undefined;  // this and the order: see AllReduce
  SumOrder order = SumOrder::replicas;
};
ProcessAllReduceAttrs read_process_all_reduce(AttributeReader attributes);
Value process_all_reduce(Graph& graph, Value x, const ProcessAllReduceAttrs& attrs,
                         const std::string& name);

std::vector<Op> process_ops();
// To the other processes; throws for a process that is alone.
Comm& comm_of(const KernelRequest& request);

std::vector<KernelEntry> process_cpu();
std::vector<KernelEntry> process_cuda();

}  // namespace lockstep
