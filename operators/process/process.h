// SPDX-License-Identifier: Apache-2.0
// Messages between the processes of a run. One global graph is cut into one graph for each process
// (builders/step/partition.h). A value that crosses processes gets these nodes, with a common
// number:
//   Send (x) -> sent            starts sending; x must stay unchanged until Sent
//   Sent (sent, x) -> done      waits until x is sent
//   Recv (like) -> y            waits until y has arrived; y has the shape of `like`, if given
//   ProcessAllReduce (x) -> y   the sum of x over all processes
//   ProcessAllGather (x) -> y   the x of all processes concatenated, in order of ranks
#pragma once

#include <string>
#include <vector>

#include "lockstep/graph.h"
#include "lockstep/kernel.h"
#include "lockstep/op.h"
#include "lockstep/processes.h"
#include "operators/collective/collective.h"

namespace lockstep {

// A message, identified by its number. `what` is the name in errors.
struct Message {
  int peer = 0;
  int64_t number = 0;
  std::string what;
};

Value send(Graph& graph, Value x, const Message& message);
Value sent(Graph& graph, Value token, Value x, const Message& message);
// `like` is a value of this process with the message's shape; needed if the shape is not known.
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

// Concatenates along the first dimension. Rank r's x has shares[r] / sum(shares) of the rows.
struct ProcessAllGatherAttrs {
  int64_t number = 0;
  int64_t rank = 0;  // of this graph's process
  std::vector<int64_t> shares;
  std::string why = "";  // as in AllGatherAttrs
};
ProcessAllGatherAttrs read_process_all_gather(AttributeReader attributes);
Value process_all_gather(Graph& graph, Value x, const ProcessAllGatherAttrs& attrs,
                         const std::string& name);
std::vector<Op> process_ops();
// The connection to the other processes; throws if there is only one process.
Comm& comm_of(const KernelRequest& request);
// The offsets in bytes at which each rank's x begins in the y of a ProcessAllGather, and the end of
// the last x.
std::vector<std::size_t> places_of_ranks(const KernelRequest& request);

std::vector<KernelEntry> process_cpu();
std::vector<KernelEntry> process_cuda();

}  // namespace lockstep
