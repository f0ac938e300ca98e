#include "operators/collective/collective.h"

#include <numeric>

#include "graph/placement.h"
#include "operators/kit/room.h"

namespace lockstep {
namespace {

void all_reduce_law(Inference& inference) {
  check(inference.outputs.size() == inference.inputs.size(), "has ", inference.inputs.size(),
        " operands but ", inference.outputs.size(), " results");
  const AllReduceAttrs attrs = read_all_reduce(inference.attributes);
  check_wire(attrs.wire, inference.input(0).dtype);
  for (std::size_t i = 0; i < inference.inputs.size(); ++i) {
    check(inference.input(i) == inference.input(0), "operand ", i, " is ", inference.input(i),
          ", operand 0 is ", inference.input(0));
    inference.outputs[i] = inference.input(i);
  }
}

// A collective belongs to no replica, not even the current one.
std::vector<Value> add_collective(Graph& graph, NodeSpec spec, const Site& site) {
  ReplicaScope no_replica(graph, kEveryReplica);
  std::vector<int64_t> replicas(spec.output_names.size());
  std::iota(replicas.begin(), replicas.end(), 0);
  spec.attributes.push_back(replicas_attribute(replicas));
  spec.outputs = static_cast<int>(spec.output_names.size());
  auto outputs = graph.add(spec, site).outputs();
  return {outputs.begin(), outputs.end()};
}

// The gradients of all replicas' results go to every operand.
std::vector<Value> all_reduce_gradient(const GradientRequest& r) {
  std::vector<std::string> names;
  for (std::size_t k = 0; k < r.dy.size(); ++k) {
    check(bool(r.dy[k]), r.node.description(), ": no loss reaches its result ", k);
    names.push_back(r.graph.name(r.x(k)) + "_grad");
  }
  AllReduceAttrs attrs = read_all_reduce(r.node.attributes());
  attrs.wire = DType::undefined;
  return all_reduce(r.graph, {r.dy.begin(), r.dy.end()}, attrs, names, r.node.name() + "_grad");
}

}  // namespace

AllReduceAttrs read_all_reduce(AttributeReader attributes) {
  const std::string reduction = attributes.text("reduction", "sum");
  check(reduction == "sum" || reduction == "mean", "reduction is '", reduction,
        "', should be sum or mean");
  const std::string order = attributes.text("order", "replicas");
  check(order == "replicas" || order == "any", "order is '", order, "', should be replicas or any");
  return {reduction == "mean" ? Reduction::mean : Reduction::sum,
          parse_wire(attributes.text("wire", "")),
          order == "any" ? SumOrder::any : SumOrder::replicas};
}

DType parse_wire(const std::string& text) {
  if (text.empty()) return DType::undefined;
  if (text == "float16") return DType::float16;
  if (text == "bfloat16") return DType::bfloat16;
  fail("the wire format is '", text, "', should be float16 or bfloat16");
}

std::string text_of_wire(DType wire) { return wire == DType::undefined ? "" : join(wire); }

void check_wire(DType wire, DType dtype) {
  if (wire == DType::undefined) return;
  check(wire == DType::float16 || wire == DType::bfloat16, "the wire format is ", wire,
        ", should be float16 or bfloat16");
  check(dtype == DType::float32, dtype, " cannot be sent as ", wire);
}

std::vector<Value> all_reduce(Graph& graph, const std::vector<Value>& values,
                              const AllReduceAttrs& attrs, const std::vector<std::string>& names,
                              const Site& site) {
  check(values.size() == names.size(), "all_reduce: ", values.size(), " values, ", names.size(),
        " names");
  Attributes attributes{{"reduction", attrs.reduction == Reduction::sum ? "sum" : "mean"}};
  if (attrs.wire != DType::undefined) attributes.push_back({"wire", text_of_wire(attrs.wire)});
  if (attrs.order == SumOrder::any) attributes.push_back({"order", "any"});
  return add_collective(graph,
                        {.type = "AllReduce",
                         .domain = kOwnDomain,
                         .inputs = values,
                         .attributes = attributes,
                         .output_names = names},
                        site);
}

std::vector<Value> broadcast(Graph& graph, Value value, const std::vector<std::string>& names,
                             const Site& site) {
  return add_collective(
      graph, {.type = "Broadcast", .domain = kOwnDomain, .inputs = {value}, .output_names = names},
      site);
}

Value copy(Graph& graph, Value value, const Site& site) {
  return graph.add_value({.type = "Copy", .domain = kOwnDomain, .inputs = {value}}, site);
}

std::vector<Op> collective_ops() {
  return {{.type = "AllReduce",
           .domain = kOwnDomain,
           .no_body = kOnlyTrains,
           .signature = Signature{"Every result is the sum (or mean) of all operands.",
                                  {{"x", "T", Arity::variadic}},
                                  {{"y", "T", Arity::variadic}},
                                  {{"reduction", AttributeKind::text},
                                   {"wire", AttributeKind::text},
                                   {"order", AttributeKind::text}}},
           .law = all_reduce_law,
           .differentiable = Differentiable::yes,
           .gradient = all_reduce_gradient,
           .alias_in_pairs = true,
           .collective = true},
          {.type = "Broadcast",
           .domain = kOwnDomain,
           .no_body = kOnlyTrains,
           .signature = Signature{"Every result is a copy of the operand.",
                                  {{"x"}},
                                  {{"y", "T", Arity::variadic}}},
           .law = same_as_first,
           .collective = true,
           .takes_first = true},
          {.type = "Copy",
           .domain = kOwnDomain,
           .no_body = kOnlyTrains,
           .signature = Signature{"A copy on another replica.", {{"x"}}, {{"y"}}},
           .law = same_as_first,
           .transit = true}};
}

}  // namespace lockstep
