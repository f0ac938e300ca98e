// SPDX-License-Identifier: Apache-2.0
#include "graph/local_functions.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>

#include "graph/graph_members.h"
#include "graph/onnx.h"

namespace lockstep {
namespace {

// ONNX's operators with results whose sizes depend on the contents of operands.
constexpr std::array<std::string_view, 4> kOpen{"Compress", "NonMaxSuppression", "NonZero",
                                                "Unique"};

constexpr int64_t kSmallConstant = 64;  // the most elements of a constant that a body may contain

bool is_written(const Node& node) {
  return node.domain() == kOwnDomain && node.op() && node.op()->body;
}

std::string name_of_operand(std::size_t i) { return join("operand_", i); }

// The number of operands without omitted ones at the end: a function has no optional operands.
std::size_t operands_of(const Node& node) {
  std::size_t count = node.inputs().size();
  while (count > 0 && !node.inputs()[count - 1]) --count;
  return count;
}

// Names the function's results, also a result that is an operand or is returned twice.
std::vector<std::string> named_results(NodeBody& body) {
  std::vector<std::string> names;
  std::set<int> used;
  for (Value& result : body.results) {
    if (!body.graph.producer(result) || !used.insert(result.id).second)
      result = body.graph.add_value({.type = "Identity", .inputs = {result}}, "result");
    names.push_back(body.graph.name(result));
  }
  return names;
}

onnx::FunctionProto function_of(const Node& node) {
  NodeBody body = body_of(node);
  onnx::FunctionProto proto;
  proto.set_domain(kOwnDomain);
  auto* opset = proto.add_opset_import();
  opset->set_domain("");
  opset->set_version(kOpset);
  for (std::size_t i = 0; i < operands_of(node); ++i) proto.add_input(name_of_operand(i));
  for (const std::string& name : named_results(body)) proto.add_output(name);
  for (const auto& attribute : proto_of(node).attribute()) proto.add_attribute(attribute.name());
  const Graph& graph = body.graph;
  for (int id = 0; id < graph.value_count(); ++id) {
    const Literal* literal = graph.literal({id});
    if (!literal || graph.producer({id}) || graph.consumers({id}).empty()) continue;
    auto* constant = proto.add_node();
    constant->set_op_type("Constant");
    constant->add_output(graph.name({id}));
    auto* value = constant->add_attribute();
    value->set_name("value");
    value->set_type(onnx::AttributeProto::TENSOR);
    to_proto(*literal, *value->mutable_t());
  }
  for (int index = 0; index < graph.node_count(); ++index)
    *proto.add_node() = proto_of(graph.node(index));
  return proto;
}

// The operator of a function's name: without a final _2, _3, ..
std::string operator_of(const std::string& function) {
  const std::size_t end = function.find_last_not_of("0123456789");
  if (end == std::string::npos || end == 0 || end + 1 == function.size() || function[end] != '_')
    return function;
  return function.substr(0, end);
}

}  // namespace

NodeBody body_of(const Node& node) {
  const Graph& from = node.graph();
  NodeBody body{Graph(from.ops(), node.type()), {}};
  std::vector<Value> operands;
  for (std::size_t i = 0; i < node.inputs().size(); ++i) {
    const Value operand = node.inputs()[i];
    const Literal* literal = operand ? from.literal(operand) : nullptr;
    if (!operand)
      operands.push_back(none);
    else if (literal && literal->count() <= kSmallConstant)
      operands.push_back(body.graph.constant(join("constant_", i), *literal));
    else
      operands.push_back(body.graph.input(name_of_operand(i), from.type(operand)));
  }
  try {
    body.results = node.op()->body({body.graph, node, operands});
  } catch (const Error& error) {
    fail(node.description(), ", in ONNX's operators: ", error.what());
  }
  return body;
}

bool has_open_body(const Node& node) {
  if (!is_written(node)) return false;
  const NodeBody body = body_of(node);
  for (int index = 0; index < body.graph.node_count(); ++index)
    if (std::find(kOpen.begin(), kOpen.end(), body.graph.node(index).type()) != kOpen.end())
      return true;
  return false;
}

void add_local_functions(const Graph& graph, onnx::ModelProto& proto) {
  std::map<std::string, std::string> name_of_body;  // by the function's bytes, without its name
  std::map<std::string, int> bodies_of;             // by operator
  for (int index = 0; index < graph.node_count(); ++index) {
    const Node node = graph.node(index);
    if (!is_written(node)) continue;
    onnx::FunctionProto function = function_of(node);
    const auto [known, fresh] =
        name_of_body.emplace(node.type() + '\n' + function.SerializeAsString(), "");
    if (fresh) {
      const int number = ++bodies_of[node.type()];
      known->second = number == 1 ? node.type() : join(node.type(), "_", number);
      function.set_name(known->second);
      proto.add_functions()->Swap(&function);
    }
    auto& call = *proto.mutable_graph()->mutable_node(index);
    call.set_op_type(known->second);
    while (call.input_size() > static_cast<int>(operands_of(node)))
      call.mutable_input()->RemoveLast();
  }
}

void drop_local_functions(onnx::ModelProto& proto, const OpSet& ops) {
  std::set<std::string> functions;
  for (int i = proto.functions_size() - 1; i >= 0; --i) {
    if (proto.functions(i).domain() != kOwnDomain) continue;
    functions.insert(proto.functions(i).name());
    proto.mutable_functions()->DeleteSubrange(i, 1);
  }
  if (functions.empty()) return;
  for (auto& node : *proto.mutable_graph()->mutable_node())
    if (node.domain() == kOwnDomain && functions.contains(node.op_type()) &&
        !ops.find(kOwnDomain, node.op_type()))
      node.set_op_type(operator_of(node.op_type()));
}

}  // namespace lockstep
