// SPDX-License-Identifier: Apache-2.0
// If, Loop, Scan and SequenceMap become nodes of the graph around them.
#include <limits>

#include "graph/attribute_reader.h"
#include "graph/flow/bag_loop.h"
#include "graph/flow/importer.h"
#include "graph/flow/sequences.h"
#include "graph/onnx.h"

namespace lockstep {
namespace {

const onnx::GraphProto& body_of(const onnx::NodeProto& node, const char* name = "body") {
  const onnx::GraphProto* body = graph_attribute(node, name);
  check(body, FlowImporter::described(node), ": has no graph '", name, "'");
  return *body;
}

// The only element of a condition or trip count.
int64_t element_of(const onnx::NodeProto& node, const Literal& literal) {
  check(literal.count() == 1, FlowImporter::described(node), ": a condition or trip count is ",
        literal.type(), ", should have one element");
  if (literal.dtype() == DType::boolean) return literal.values<bool>()[0];
  return literal.integers()[0];
}

std::vector<int64_t> integers_of(AttributeReader& attributes, const char* name, std::size_t count) {
  std::vector<int64_t> values = attributes.integers(name);
  values.resize(count, 0);
  return values;
}

}  // namespace

void FlowImporter::refuse(const onnx::NodeProto& node, const std::string& why) const {
  throw Unsupported(join(described(node), ": ", why,
                         ". Control flow on data is not supported: conditions and trip counts "
                         "should follow from constants and shapes"));
}

FlowImporter::Scope FlowImporter::inside(const Scope& scope, const onnx::NodeProto& node,
                                         int64_t iteration) {
  count_unrolled(node);
  return {.outer = &scope,
          .prefix = join(scope.prefix, label_of(node), "/", iteration, "/"),
          .in_loop = true};
}

void FlowImporter::count_unrolled(const onnx::NodeProto& node) {
  supported(++unrolled_ <= kMostUnrolledNodes, described(node),
            ": the loops of the network would be unrolled to more than ", kMostUnrolledNodes,
            " nodes; export the network with fewer iterations");
}

void FlowImporter::add_if(const onnx::NodeProto& node, Scope& scope) {
  check(node.input_size() == 1, described(node), ": has ", node.input_size(),
        " operands, should have a condition");
  const Value condition = tensor(node.input(0), scope, described(node));
  const auto known = conditions_.value_of(condition);
  if (!known) refuse(node, join("its condition '", node.input(0), "' is not constant"));
  const auto& branch = body_of(node, element_of(node, *known) ? "then_branch" : "else_branch");
  check(branch.output_size() == node.output_size(), described(node), ": its branch has ",
        branch.output_size(), " outputs, the node ", node.output_size());
  const int made_from = graph_.value_count();
  Scope child{.outer = &scope, .prefix = scope.prefix, .in_loop = scope.in_loop};
  const std::vector<FlowValue> results = add_graph(branch, child);
  for (int i = 0; i < node.output_size(); ++i) bind(node.output(i), results[i], scope, made_from);
}

void FlowImporter::bind_scanned(const onnx::NodeProto& node, int output,
                                const std::vector<FlowValue>& values,
                                const onnx::ValueInfoProto& declared, int64_t axis, Scope& scope) {
  const std::string& name = node.output(output);
  if (name.empty()) return;
  const int made_from = graph_.value_count();
  onnx::NodeProto proto;
  proto.set_op_type(node.op_type());
  proto.set_name(node.name().empty() ? "" : join(scope.prefix, node.name(), "_", output));
  proto.add_output(scope.outer || graph_.find(name) ? fresh_name(scope.prefix + name) : name);
  NewerNode written(graph_, std::move(proto), options_.opset);
  if (!values.empty()) {
    std::vector<Value> parts;
    for (const FlowValue& value : values) {
      supported(!!value.tensor, described(node), ": '", declared.name(), "' is not a tensor");
      parts.push_back(value.tensor);
    }
    bind(name, {.tensor = joined_parts(written, parts, axis, true)}, scope, made_from);
    return;
  }
  const TensorType type = from_proto(declared.type());
  supported(declared.type().has_tensor_type() && type.ranked && is_static(type.shape) && axis == 0,
            described(node), ": has no iteration, and the shape of '", declared.name(),
            "' is not known");
  Dims dims = to_dims(type.shape);
  dims.insert(dims.begin(), 0);
  bind(name, {.tensor = written.constant(Literal(type.dtype, dims))}, scope, made_from);
}

void FlowImporter::add_loop(const onnx::NodeProto& node, Scope& scope) {
  const auto& body = body_of(node);
  const int carried = node.input_size() - 2;
  check(carried >= 0 && body.input_size() == carried + 2 && body.output_size() >= carried + 1 &&
            node.output_size() <= body.output_size() - 1,
        described(node), ": has ", node.input_size(), " operands and ", node.output_size(),
        " results, its body ", body.input_size(), " and ", body.output_size());
  if (add_bag_loop(*this, node, scope)) return;
  const bool counted = !node.input(0).empty(), conditional = !node.input(1).empty();
  int64_t trips = std::numeric_limits<int64_t>::max();
  bool goes_on = true;
  if (counted) {
    const auto known = conditions_.value_of(tensor(node.input(0), scope, described(node)));
    if (!known) refuse(node, join("its trip count '", node.input(0), "' is not constant"));
    trips = element_of(node, *known);
  }
  if (conditional) {
    const auto known = conditions_.value_of(tensor(node.input(1), scope, described(node)));
    if (!known) refuse(node, join("its condition '", node.input(1), "' is not constant"));
    goes_on = element_of(node, *known) != 0;
  }
  std::vector<FlowValue> values;
  for (int i = 0; i < carried; ++i) values.push_back(find(node.input(i + 2), scope));
  std::vector<std::vector<FlowValue>> scanned(body.output_size() - 1 - carried);
  const int made_from = graph_.value_count();
  for (int64_t i = 0; i < trips && goes_on; ++i) {
    Scope child = inside(scope, node, i);
    child.values[body.input(0).name()] = {
        .tensor = graph_.constant(fresh_name(child.prefix + "iteration"), Literal::scalar(i))};
    child.values[body.input(1).name()] = {
        .tensor = graph_.constant(fresh_name(child.prefix + "condition"), Literal::scalar(true))};
    for (int k = 0; k < carried; ++k) child.values[body.input(k + 2).name()] = values[k];
    std::vector<FlowValue> results = add_graph(body, child);
    if (conditional) {
      const auto known = conditions_.value_of(results[0].tensor);
      if (!known)
        refuse(node, join("after iteration ", i, " its condition '", body.output(0).name(),
                          "' is not constant"));
      goes_on = element_of(node, *known) != 0;
    }
    for (int k = 0; k < carried; ++k) values[k] = results[k + 1];
    for (std::size_t k = 0; k < scanned.size(); ++k) scanned[k].push_back(results[carried + 1 + k]);
  }
  for (int k = 0; k < node.output_size(); ++k)
    if (k < carried)
      bind(node.output(k), values[k], scope, made_from);
    else
      bind_scanned(node, k, scanned[k - carried], body.output(k + 1), 0, scope);
}

void FlowImporter::add_scan(const onnx::NodeProto& node, Scope& scope) {
  const auto& body = body_of(node);
  AttributeReader attributes = reader_of(described(node), node);
  const int64_t scans = attributes.integer("num_scan_inputs", 0);
  check(scans > 0 && scans <= body.input_size(), described(node), ": num_scan_inputs is ", scans,
        ", its body has ", body.input_size(), " operands");
  const int states = body.input_size() - static_cast<int>(scans);
  const int outputs = body.output_size() - states;
  check(outputs >= 0 && node.input_size() == body.input_size() &&
            node.output_size() <= body.output_size(),
        described(node), ": has ", node.input_size(), " operands and ", node.output_size(),
        " results, its body ", body.input_size(), " and ", body.output_size());
  const auto axes = integers_of(attributes, "scan_input_axes", scans);
  const auto backward = integers_of(attributes, "scan_input_directions", scans);
  const auto output_axes = integers_of(attributes, "scan_output_axes", outputs);
  const auto output_backward = integers_of(attributes, "scan_output_directions", outputs);
  std::vector<FlowValue> values;
  for (int k = 0; k < states; ++k) values.push_back(find(node.input(k), scope));
  std::vector<Value> scanned;
  int64_t trips = -1;
  for (int k = 0; k < scans; ++k) {
    scanned.push_back(tensor(node.input(states + k), scope, described(node)));
    const Shape& shape = graph_.shape(scanned[k]);
    const auto rank = static_cast<int64_t>(shape.size());
    const int64_t axis = axes[k] < 0 ? axes[k] + rank : axes[k];
    check(axis >= 0 && axis < rank, described(node), ": axis ", axes[k], " is outside of ",
          graph_.type(scanned[k]));
    if (!shape[axis].known())
      refuse(node, join("the size of '", node.input(states + k), "' ",
                        text_of(graph_.type(scanned[k])), " along axis ", axis, " is not known"));
    check(trips < 0 || trips == shape[axis].size(), described(node), ": its operands have ", trips,
          " and ", shape[axis].size(), " parts");
    trips = shape[axis].size();
  }
  std::vector<std::vector<FlowValue>> results_of(outputs);
  const int made_from = graph_.value_count();
  for (int64_t i = 0; i < trips; ++i) {
    Scope child = inside(scope, node, i);
    for (int k = 0; k < states; ++k) child.values[body.input(k).name()] = values[k];
    for (int k = 0; k < scans; ++k) {
      const std::string base = child.prefix + body.input(states + k).name();
      const Value at = graph_.constant(fresh_name(base + "_at"),
                                       Literal::scalar(backward[k] ? trips - 1 - i : i));
      child.values[body.input(states + k).name()] = {
          .tensor = graph_.add_value({.type = "Gather",
                                      .inputs = {scanned[k], at},
                                      .attributes = {{"axis", axes[k]}},
                                      .output_names = {fresh_name(base)}},
                                     Site(base))};
    }
    std::vector<FlowValue> results = add_graph(body, child);
    for (int k = 0; k < states; ++k) values[k] = results[k];
    for (int k = 0; k < outputs; ++k)
      results_of[k].insert(output_backward[k] ? results_of[k].begin() : results_of[k].end(),
                           results[states + k]);
  }
  for (int k = 0; k < node.output_size(); ++k)
    if (k < states)
      bind(node.output(k), values[k], scope, made_from);
    else
      bind_scanned(node, k, results_of[k - states], body.output(k), output_axes[k - states], scope);
}

void FlowImporter::add_map(const onnx::NodeProto& node, Scope& scope) {
  const auto& body = body_of(node);
  check(node.input_size() > 0 && body.input_size() == node.input_size() &&
            node.output_size() == body.output_size(),
        described(node), ": its body has other operands or results");
  std::vector<FlowValue> inputs;
  for (const std::string& name : node.input()) {
    inputs.push_back(find(name, scope));
    if (!inputs.back().sequence) continue;
    NewerNode written(graph_, node, options_.opset);
    inputs.back().sequence = std::make_shared<const Sequence>(
        Sequence{.parts = parts_of(written, *inputs.back().sequence)});
  }
  check(inputs[0].sequence != nullptr, described(node), ": needs a sequence");
  const std::size_t count = inputs[0].sequence->parts.size();
  std::vector<Sequence> results(node.output_size());
  const int made_from = graph_.value_count();
  for (std::size_t i = 0; i < count; ++i) {
    Scope child = inside(scope, node, static_cast<int64_t>(i));
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      const bool apart = inputs[k].sequence != nullptr;
      check(!apart || inputs[k].sequence->parts.size() == count, described(node),
            ": its sequences differ in length");
      child.values[body.input(static_cast<int>(k)).name()] =
          apart ? FlowValue{.tensor = inputs[k].sequence->parts[i]} : inputs[k];
    }
    const std::vector<FlowValue> made = add_graph(body, child);
    for (std::size_t k = 0; k < results.size(); ++k) results[k].parts.push_back(made[k].tensor);
  }
  for (std::size_t k = 0; k < results.size(); ++k)
    bind(node.output(static_cast<int>(k)),
         {.sequence = std::make_shared<const Sequence>(results[k])}, scope, made_from);
}

}  // namespace lockstep
