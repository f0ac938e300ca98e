// SPDX-License-Identifier: Apache-2.0
#include "operators/collective/collective.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "graph/limits.h"
#include "graph/placement.h"
#include "operators/kit/flops.h"
#include "operators/kit/operator_helpers.h"
#include "runtime/plan/compile.h"

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

// In the graph of one replica, one operand stands for the operands of all replicas.
void all_gather_law(Inference& inference) {
  const AllGatherAttrs attrs = read_all_gather(inference.attributes);
  const std::size_t operands = inference.inputs.size();
  check(operands == 1 || static_cast<int64_t>(operands) == attrs.of, "joins ", attrs.of,
        " values but has ", operands, " operands");
  check(inference.outputs.size() == operands, "has ", operands, " operands but ",
        inference.outputs.size(), " results");
  demand_at_least_dims(inference, 0, 1);
  TensorType joined = inference.input(0);
  for (std::size_t i = 1; i < operands; ++i) {
    const TensorType& other = inference.input(i);
    const bool fits = !other.ranked || !joined.ranked || may_be(other.shape, joined.shape);
    check(fits && other.dtype == joined.dtype, "operand ", i, " is ", other, ", operand 0 is ",
          joined);
  }
  if (joined.ranked) joined.shape[0] = times(attrs.of, joined.shape[0]);
  for (TensorType& output : inference.outputs) output = joined;
}

void broadcast_law(Inference& inference) {
  read_broadcast(inference.attributes);
  same_as_first(inference);
}

// A collective belongs to no replica, not even to the current replica.
std::vector<Value> add_collective(Graph& graph, NodeSpec spec, const Site& site,
                                  const std::vector<int>& replicas = {}) {
  ReplicaScope no_replica(graph, kEveryReplica);
  std::vector<int64_t> group(replicas.begin(), replicas.end());
  if (group.empty()) {
    group.resize(spec.output_names.size());
    std::iota(group.begin(), group.end(), 0);
  }
  check(group.size() == spec.output_names.size(), spec.type, ": ", group.size(), " replicas, ",
        spec.output_names.size(), " names");
  spec.attributes.push_back(replicas_attribute(group));
  spec.outputs = static_cast<int>(spec.output_names.size());
  auto outputs = graph.add(spec, site).outputs();
  return {outputs.begin(), outputs.end()};
}

// Every operand gets the reduced gradients of all replicas' results.
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

BroadcastPath read_broadcast(AttributeReader attributes) {
  const std::string path = attributes.text("path", "straight");
  check(path == "straight" || path == "any", "path is '", path, "', should be straight or any");
  return path == "any" ? BroadcastPath::any : BroadcastPath::straight;
}

AllGatherAttrs read_all_gather(AttributeReader attributes) {
  const int64_t of = attributes.integer("of", 1);
  check(of >= 1 && of <= kMostReplicas, "of is ", of,
        ", should be the number of values that are joined");
  return {of, attributes.text("why", "")};
}

Dim times(int64_t count, const Dim& dim) {
  if (count == 1) return dim;
  if (!dim.known()) return Dim("?");
  check(dim.size() <= std::numeric_limits<int64_t>::max() / count, count, " times ", dim.size(),
        " rows are too many");
  return {count * dim.size()};
}

DType parse_wire(const std::string& text) {
  if (text.empty()) return DType::undefined;
  for (const TypeInfo& info : all_types())
    if (info.is_narrow && text == info.name) return info.type;
  fail("the wire format is '", text, "', should be ", narrow_names());
}

std::string text_of_wire(DType wire) { return wire == DType::undefined ? "" : join(wire); }

void check_wire(DType wire, DType dtype) {
  if (wire == DType::undefined) return;
  check(is_narrow(wire), "the wire format is ", wire, ", should be ", narrow_names());
  check(dtype == DType::float32, dtype, " cannot be sent as ", wire);
}

std::vector<Value> all_reduce(Graph& graph, const std::vector<Value>& values,
                              const AllReduceAttrs& attrs, const std::vector<std::string>& names,
                              const Site& site, const std::vector<int>& replicas) {
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
                        site, replicas);
}

std::vector<Value> broadcast(Graph& graph, Value value, const std::vector<std::string>& names,
                             const Site& site, BroadcastPath path,
                             const std::vector<int>& replicas) {
  Attributes attributes;
  if (path == BroadcastPath::any) attributes.push_back({"path", "any"});
  return add_collective(graph,
                        {.type = "Broadcast",
                         .domain = kOwnDomain,
                         .inputs = {value},
                         .attributes = attributes,
                         .output_names = names},
                        site, replicas);
}

std::vector<Value> all_gather(Graph& graph, const std::vector<Value>& values,
                              const AllGatherAttrs& attrs, const std::vector<std::string>& names,
                              const Site& site) {
  check(values.size() == names.size(), "all_gather: ", values.size(), " values, ", names.size(),
        " names");
  Attributes attributes{{"of", attrs.of}};
  if (!attrs.why.empty()) attributes.push_back({"why", attrs.why});
  return add_collective(graph,
                        {.type = "AllGather",
                         .domain = kOwnDomain,
                         .inputs = values,
                         .attributes = attributes,
                         .output_names = names},
                        site);
}

Value copy(Graph& graph, Value value, const Site& site) {
  return graph.add_value({.type = "Copy", .domain = kOwnDomain, .inputs = {value}}, site);
}

std::string reach_text(const KernelRequest& request) {
  if (request.device.info().in_host_memory) return "shared memory";
  std::vector<int> gpus;
  for (const auto* devices : {&request.part_devices, &request.operand_devices})
    for (const Device& device : *devices)
      if (std::find(gpus.begin(), gpus.end(), device.index) == gpus.end())
        gpus.push_back(device.index);
  if (gpus.size() < 2) return "memory of one GPU";
  return join("peer access, ", gpus.size(), " GPUs");
}

std::vector<Op> collective_ops() {
  return {
      {.type = "AllReduce",
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
       .flops = per_combined,  // of all replicas together
       .alias_in_pairs = true,
       .collective = true},
      {.type = "Broadcast",
       .domain = kOwnDomain,
       .no_body = kOnlyTrains,
       .signature = Signature{"Every result is a copy of the operand.",
                              {{"x"}},
                              {{"y", "T", Arity::variadic}},
                              {{"path", AttributeKind::text}}},
       .law = broadcast_law,
       .flops = no_flops,
       .collective = true,
       .takes_first = true},
      {.type = "AllGather",
       .domain = kOwnDomain,
       .no_body = kOnlyTrains,
       .signature = Signature{"Every result has all operands, one after the other.",
                              {{"x", "T", Arity::variadic}},
                              {{"y", "T", Arity::variadic}},
                              {{"of", AttributeKind::integer, true}, {"why", AttributeKind::text}}},
       .law = all_gather_law,
       .flops = no_flops,
       .collective = true},
      {.type = "Copy",
       .domain = kOwnDomain,
       .no_body = kOnlyTrains,
       .signature = Signature{"A copy on another replica.", {{"x"}}, {{"y"}}},
       .law = same_as_first,
       .copies = true,
       .transit = true}};
}

}  // namespace lockstep
