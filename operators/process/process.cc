#include "operators/process/process.h"

#include "graph/placement.h"
#include "operators/kit/room.h"

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
  for (int64_t size : shape) check(size >= 0, "shape ", shape, " has ", size);
  inference.outputs[0] = {dtype, to_shape(shape)};
}

void reduce_over_processes_law(Inference& inference) {
  check_wire(read_process_all_reduce(inference.attributes).wire, inference.input(0).dtype);
  inference.outputs[0] = inference.input(0);
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

Value recv(Graph& graph, const TensorType& type, const Message& message, const std::string& name) {
  check(type.ranked && is_static(type.shape), "'", message.what, "' ", type,
        " is sent to another process, so its shape must be known");
  Attributes attributes = attributes_of(message);
  attributes.push_back({"dtype", static_cast<int64_t>(type.dtype)});
  // ONNX's checker rejects an empty list, so a scalar's is omitted.
  if (!type.shape.empty()) attributes.push_back({"shape", to_dims(type.shape)});
  return graph.add_value({.type = "Recv", .domain = kOwnDomain, .attributes = attributes}, name);
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

Comm& comm_of(const KernelRequest& request) {
  check(request.comm, "communicates with other processes, but there is only one");
  return *request.comm;
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
       .exchange = true},
      {.type = "Sent",
       .domain = kOwnDomain,
       .no_body = kOnlyTrains,
       .signature =
           Signature{
               "Waits until x has been sent.", {{"sent", "I"}, {"x"}}, {{"done", "I"}}, kMessage},
       .law = token_law,
       .exchange = true},
      {.type = "Recv",
       .domain = kOwnDomain,
       .no_body = kOnlyTrains,
       .signature = Signature{"Receives a tensor from another process.", {}, {{"y"}}, received},
       .law = recv_law,
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
       .exchange = true}};
}

}  // namespace lockstep
