// SPDX-License-Identifier: Apache-2.0
#include "operators/process/process.h"

#include <numeric>

#include "graph/limits.h"
#include "graph/placement.h"
#include "lockstep/processes.h"
#include "operators/kit/flops.h"
#include "operators/kit/operator_helpers.h"

namespace lockstep {
namespace {

const TensorType kToken{DType::int64, {}};

Attributes attributes_of(const Message& message) {
  return {{"peer", int64_t{message.peer}}, {"number", message.number}, {"what", message.what}};
}

void read_message(Inference& inference) {
  inference.attributes.integer("peer", 0);
  inference.attributes.integer("number", 0);
  inference.attributes.text("what", "");
}

void token_law(Inference& inference) {
  read_message(inference);
  inference.outputs[0] = kToken;
}

void recv_law(Inference& inference) {
  read_message(inference);
  const auto dtype = static_cast<DType>(inference.attributes.integer("dtype", 0));
  size_of(dtype);  // throws for types without a size
  const Dims shape = inference.attributes.integers("shape", {});
  if (!inference.inputs.empty()) {
    inference.outputs[0] = inference.input(0);
    inference.outputs[0].dtype = dtype;
    return;
  }
  for (int64_t size : shape) check(size >= 0, "shape ", shape, " has ", size);
  inference.outputs[0] = {dtype, to_shape(shape)};
}

void reduce_over_processes_law(Inference& inference) {
  check_wire(read_process_all_reduce(inference.attributes).wire, inference.input(0).dtype);
  inference.outputs[0] = inference.input(0);
}

int64_t own_share(const ProcessAllGatherAttrs& attrs) { return attrs.shares[attrs.rank]; }

void gather_over_processes_law(Inference& inference) {
  const ProcessAllGatherAttrs attrs = read_process_all_gather(inference.attributes);
  demand_at_least_dims(inference, 0, 1);
  TensorType joined = inference.input(0);
  if (joined.ranked) {
    Dim& rows = joined.shape[0];
    check(!rows.known() || rows.size() % own_share(attrs) == 0, "x is ", joined,
          "; its first dimension should be a multiple of this process's ", own_share(attrs),
          " replicas");
    const Dim each = rows.known() ? Dim(rows.size() / own_share(attrs)) : rows;
    const int64_t all = std::accumulate(attrs.shares.begin(), attrs.shares.end(), int64_t{0});
    rows = times(all, each);
  }
  inference.outputs[0] = joined;
}

const std::vector<FormalAttribute> kMessage{{"peer", AttributeKind::integer, true},
                                            {"number", AttributeKind::integer, true},
                                            {"what", AttributeKind::text}};

}  // namespace

Value send(Graph& graph, Value x, const Message& message) {
  return graph.add_value(
      {.type = "Send", .domain = kOwnDomain, .inputs = {x}, .attributes = attributes_of(message)},
      join(message.what, "/to_", message.peer));
}

Value sent(Graph& graph, Value token, Value x, const Message& message) {
  return graph.add_value({.type = "Sent",
                          .domain = kOwnDomain,
                          .inputs = {token, x},
                          .attributes = attributes_of(message)},
                         join(message.what, "/at_", message.peer));
}

Value recv(Graph& graph, const TensorType& type, const Message& message, const std::string& name,
           Value like) {
  const bool known = type.ranked && is_static(type.shape);
  check(known || like, "'", message.what, "' ", type,
        " is sent to another process, so its shape must be known");
  Attributes attributes = attributes_of(message);
  attributes.push_back({"dtype", static_cast<int64_t>(type.dtype)});
  // ONNX's checker rejects an empty list, so the shape of a scalar is omitted.
  if (known && !type.shape.empty()) attributes.push_back({"shape", to_dims(type.shape)});
  std::vector<Value> operands;
  if (!known) operands.push_back(like);
  return graph.add_value(
      {.type = "Recv", .domain = kOwnDomain, .inputs = operands, .attributes = attributes}, name);
}

Value process_all_reduce(Graph& graph, Value x, const ProcessAllReduceAttrs& attrs,
                         const std::string& name) {
  Attributes attributes{
      {"number", attrs.number}, {"mean_of", attrs.mean_of}, {"wire", text_of_wire(attrs.wire)}};
  if (attrs.order == SumOrder::any) attributes.push_back({"order", "any"});
  return graph.add_value(
      {.type = "ProcessAllReduce", .domain = kOwnDomain, .inputs = {x}, .attributes = attributes},
      name);
}

ProcessAllReduceAttrs read_process_all_reduce(AttributeReader attributes) {
  const AllReduceAttrs shared = read_all_reduce(attributes);
  return {attributes.integer("number", 0), attributes.integer("mean_of", 0), shared.wire,
          shared.order};
}

Value process_all_gather(Graph& graph, Value x, const ProcessAllGatherAttrs& attrs,
                         const std::string& name) {
  Attributes attributes{{"number", attrs.number}, {"rank", attrs.rank}, {"shares", attrs.shares}};
  if (!attrs.why.empty()) attributes.push_back({"why", attrs.why});
  return graph.add_value(
      {.type = "ProcessAllGather", .domain = kOwnDomain, .inputs = {x}, .attributes = attributes},
      name);
}

ProcessAllGatherAttrs read_process_all_gather(AttributeReader attributes) {
  ProcessAllGatherAttrs attrs{attributes.integer("number", 0), attributes.integer("rank", 0),
                              attributes.integers("shares"), attributes.text("why", "")};
  check(attrs.rank >= 0 && attrs.rank < static_cast<int64_t>(attrs.shares.size()), "rank ",
        attrs.rank, " has no entry in the shares ", attrs.shares);
  for (int64_t share : attrs.shares)
    check(share >= 1 && share <= kMostReplicas, "shares ", attrs.shares, " has ", share,
          ", should be a number of replicas");
  return attrs;
}

Comm& comm_of(const KernelRequest& request) {
  check(request.comm, "communicates with other processes, but there is only one");
  return *request.comm;
}

std::vector<std::size_t> places_of_ranks(const KernelRequest& request) {
  const ProcessAllGatherAttrs attrs = read_process_all_gather(request.attributes());
  const Comm& comm = comm_of(request);
  check(attrs.rank == comm.rank() && static_cast<int>(attrs.shares.size()) == comm.size(),
        "is for rank ", attrs.rank, " of ", attrs.shares.size(), ", this is rank ", comm.rank(),
        " of ", comm.size());
  const std::size_t each = request.in[0].bytes() / own_share(attrs);
  std::vector<std::size_t> places{0};
  for (int64_t share : attrs.shares) places.push_back(places.back() + each * share);
  return places;
}

std::vector<Op> process_ops() {
  std::vector<FormalAttribute> received = kMessage;
  received.push_back({"dtype", AttributeKind::integer, true});
  received.push_back({"shape", AttributeKind::integers});
  return {
      {.type = "Send",
       .domain = kOwnDomain,
       .no_body = kOnlyTrains,
       .signature =
           Signature{"Starts to send x to another process.", {{"x"}}, {{"sent", "I"}}, kMessage},
       .law = token_law,
       .flops = no_flops,
       .exchange = true},
      {.type = "Sent",
       .domain = kOwnDomain,
       .no_body = kOnlyTrains,
       .signature =
           Signature{
               "Waits until x has been sent.", {{"sent", "I"}, {"x"}}, {{"done", "I"}}, kMessage},
       .law = token_law,
       .flops = no_flops,
       .exchange = true},
      {.type = "Recv",
       .domain = kOwnDomain,
       .no_body = kOnlyTrains,
       .signature = Signature{"Receives a tensor from another process, of the shape of `like`.",
                              {{"like", "T", Arity::optional}},
                              {{"y"}},
                              received},
       .law = recv_law,
       .flops = no_flops,
       .exchange = true},
      {.type = "ProcessAllReduce",
       .domain = kOwnDomain,
       .no_body = kOnlyTrains,
       .signature = Signature{"The sum of x over all processes; every process gets it.",
                              {{"x"}},
                              {{"y"}},
                              {{"number", AttributeKind::integer, true},
                               {"mean_of", AttributeKind::integer},
                               {"wire", AttributeKind::text},
                               {"order", AttributeKind::text}}},
       .law = reduce_over_processes_law,
       .may_alias = {{0, 0}},
       .exchange = true},
      {.type = "ProcessAllGather",
       .domain = kOwnDomain,
       .no_body = kOnlyTrains,
       .signature = Signature{"All processes' x, one after the other; every process gets it.",
                              {{"x"}},
                              {{"y"}},
                              {{"number", AttributeKind::integer, true},
                               {"rank", AttributeKind::integer, true},
                               {"shares", AttributeKind::integers, true},
                               {"why", AttributeKind::text}}},
       .law = gather_over_processes_law,
       .flops = no_flops,
       .exchange = true}};
}

}  // namespace lockstep
