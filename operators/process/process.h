// SPDX-License-Identifier: Apache-2.0
// Messages between the processes of a run. One global graph is cut into one graph for each process
// (builders/step/partition.h). A value that crosses gets these nodes, with a common number:
//   Send (x) -> sent            starts sending; x must stay unchanged until Sent
//   Sent (sent, x) -> done      waits until it is sent
//   Recv (like) -> y            waits until it has arrived; `like`, if given, has its shape
//   ProcessAllReduce (x) -> y   the sum of x over all processes
//   ProcessAllGather (x) -> y   all processes' x one after the other, in order of ranks
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"
#include "graph/op.h"
#include "operators/collective/collective.h"
#include "runtime/kernel/table.h"

namespace lockstep {

// A message is identified by its number. `what` names it in errors.
struct Message {
  int peer = 0;
  int64_t number = 0;
  std::string what;
};

Value send(Graph& graph, Value x, const Message& message);
Value sent(Graph& graph, Value token, Value x, const Message& message);
// `like`: a value of this process that has the message's shape, unless that is known.
Value recv(Graph& graph, const TensorType& type, const Message& message, const std::string& name,
           Value like = none);

struct ProcessAllReduceAttrs {
  int64_t number = 0;
  int64_t mean_of = 0;            // the divisor of the sum; 0: none
  DType wire = DType::undefined;  // wire and order: see AllReduce
  SumOrder order = SumOrder::replicas;
};
ProcessAllReduceAttrs read_process_all_reduce(AttributeReader attributes);
Value process_all_reduce(Graph& graph, Value x, const ProcessAllReduceAttrs& attrs,
                         const std::string& name);

// Along the first dimension, in which rank r's x has shares[r] of the sum of all shares.
struct ProcessAllGatherAttrs {
  int64_t number = 0;
  int64_t rank = 0;  // of this graph's process
  std::vector<int64_t> shares;
  std::string why = "";  // as that of AllGather
};
ProcessAllGatherAttrs read_process_all_gather(AttributeReader attributes);
Value process_all_gather(Graph& graph, Value x, const ProcessAllGatherAttrs& attrs,
                         const std::string& name);
std::vector<Op> process_ops();
// To the other processes; throws for a single process.
Comm& comm_of(const KernelRequest& request);
// Of a ProcessAllGather: where each rank's x begins in y, and where the last one ends, in bytes.
std::vector<std::size_t> places_of_ranks(const KernelRequest& request);

std::vector<KernelEntry> process_cpu();
std::vector<KernelEntry> process_cuda();

}  // namespace lockstep
