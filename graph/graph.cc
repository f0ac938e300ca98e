// SPDX-License-Identifier: Apache-2.0
#include "lockstep/graph.h"

#include <algorithm>

#include "graph/attribute_reader.h"
#include "graph/graph_members.h"
#include "graph/onnx.h"
#include "graph/placement.h"

namespace lockstep {

// ---- Graph: building

Graph::Graph(const OpSet& ops, std::string name)
    : members_(std::make_unique<Members>(ops, std::move(name))) {}
Graph::~Graph() = default;
Graph::Graph(Graph&&) noexcept = default;
Graph& Graph::operator=(Graph&&) noexcept = default;

Graph Graph::clone() const {
  Graph copy(ops(), name());
  const Members& from = *members_;
  Members& to = *copy.members_;
  to.scope = from.scope;
  to.replica = from.replica;
  to.origin_set = from.origin_set;
  to.inherited_otherwise = from.inherited_otherwise;
  *to.proto = *from.proto;
  to.nodes = from.nodes;
  to.inputs = from.inputs;
  to.outputs = from.outputs;
  to.by_name = from.by_name;
  to.next_suffix = from.next_suffix;
  to.values.reserve(from.values.size());
  for (const Members::ValueInfo& value : from.values) {
    Members::ValueInfo copied;
    copied.name = value.name;
    copied.type = value.type;
    copied.producer = value.producer;
    copied.is_output = value.is_output;
    copied.declared_at = value.declared_at;
    copied.consumers = value.consumers;
    copied.literal = value.literal;
    if (value.content) copied.content = std::make_unique<Shape>(*value.content);
    if (value.known) copied.known = std::make_unique<Literal>(*value.known);
    to.values.push_back(std::move(copied));
  }
  return copy;
}

const OpSet& Graph::ops() const { return *members_->ops; }
const std::string& Graph::name() const { return members_->name; }

Value Graph::input(const std::string& name, const TensorType& type, const std::string& origin) {
  Members& m = *members_;
  const Value value = m.new_value(scoped(name), type);
  m.values[value.id].declared_at = origin;
  m.inputs.push_back(value);
  return value;
}

Value Graph::constant(const std::string& name, Literal literal) {
  Members& m = *members_;
  const Value value = m.new_value(m.fresh_name(scoped(name)), literal.type());
  m.values[value.id].literal = std::make_shared<const Literal>(std::move(literal));
  return value;
}

Node Graph::add(const NodeSpec& spec, const Site& site) {
  Members& m = *members_;
  const std::string origin = m.origin_of(spec, site);
  Members::NodeInfo node;
  node.op = m.ops->named(spec.domain, spec.type, origin);
  node.inputs = spec.inputs;
  while (!node.inputs.empty() && !node.inputs.back()) node.inputs.pop_back();
  node.replica = m.replica;

  // Filled outside the graph, so that a rejected node leaves no trace.
  onnx::NodeProto proto;
  proto.set_op_type(std::string(spec.type));
  proto.set_domain(std::string(spec.domain));
  proto.set_name(m.fresh_name(scoped(site.name.empty() ? spec.type : std::string_view(site.name))));
  proto.set_doc_string(origin);
  for (Value value : node.inputs) proto.add_input(value ? name(value) : "");
  for (int i = 0; i < spec.outputs; ++i) {
    const bool named = i < static_cast<int>(spec.output_names.size());
    const bool omitted = named && spec.output_names[i].empty();
    proto.add_output(omitted  ? ""
                     : named  ? scoped(spec.output_names[i])
                     : i == 0 ? proto.name()
                              : m.fresh_name(join(proto.name(), "_", i)));
  }
  for (const auto& [name, value] : spec.attributes) to_proto(name, value, *proto.add_attribute());
  if (m.replica != kEveryReplica) write_replica(proto, m.replica);
  return this->node(m.append(std::move(proto), std::move(node), origin));
}

Node adopt(Graph& graph, onnx::NodeProto proto) {
  Graph::Members& m = graph.members();
  // ONNX makes node names optional; ours appear in errors and plans.
  if (proto.name().empty() && proto.output_size() > 0) proto.set_name(proto.output(0));
  Graph::Members::NodeInfo node;
  node.op = m.ops->named(proto.domain(), proto.op_type(), proto.name());
  for (const std::string& name : proto.input())
    node.inputs.push_back(name.empty() ? none : m.at(name));
  while (!node.inputs.empty() && !node.inputs.back()) node.inputs.pop_back();
  for (const std::string& name : proto.output())
    check(!name.empty() || !node.op->collective, proto.name(), " (", proto.op_type(),
          "): each of its replicas needs an output");
  node.replica = read_replica(proto);
  const std::string where = proto.doc_string();
  return graph.node(m.append(std::move(proto), std::move(node), where));
}

Node Graph::copy(const Node& node, const std::vector<Value>& inputs) {
  Members& m = *members_;
  onnx::NodeProto proto = proto_of(node);
  Members::NodeInfo copied;
  copied.op = m.ops->named(proto.domain(), proto.op_type(), proto.name());
  copied.inputs = inputs;
  copied.replica = m.replica;
  proto.clear_input();
  for (Value value : inputs) proto.add_input(value ? name(value) : "");
  for (std::string& name : *proto.mutable_output())
    if (!name.empty()) name = scoped(name);
  proto.set_name(m.fresh_name(scoped(proto.name())));
  forget_replica(proto);
  if (m.replica != kEveryReplica) write_replica(proto, m.replica);
  const std::string where = proto.doc_string();
  return this->node(m.append(std::move(proto), std::move(copied), where));
}

void Graph::reserve(std::size_t nodes, std::size_t values) {
  Members& m = *members_;
  m.proto->mutable_node()->Reserve(static_cast<int>(nodes));
  m.nodes.reserve(nodes);
  m.values.reserve(values);
  m.by_name.reserve(values);
}

Node Graph::take(const Node& node, const std::vector<Value>& inputs, const Names& names) {
  Members& m = *members_;
  const int index = node_count();
  Members::NodeInfo taken{inputs, {}, node.op(), m.replica};
  onnx::NodeProto& proto = *m.proto->add_node();
  const onnx::NodeProto& from_proto = proto_of(node);
  proto.set_op_type(from_proto.op_type());
  if (!from_proto.domain().empty()) proto.set_domain(from_proto.domain());
  proto.set_doc_string(from_proto.doc_string());
  *proto.mutable_attribute() = from_proto.attribute();
  proto.set_name(names.node);
  for (Value value : inputs) {
    proto.add_input(value ? name(value) : "");
    if (value) m.values[value.id].consumers.push_back(index);
  }
  for (std::size_t i = 0; i < names.outputs.size(); ++i) {
    const std::string& name = names.outputs[i];
    proto.add_output(name);
    taken.outputs.push_back(none);
    if (name.empty()) continue;
    const std::span<const Value> results = node.outputs();
    const Members::ValueInfo& from =
        node.graph().members().info(results[std::min(i, results.size() - 1)]);
    const Value made = taken.outputs.back() = m.new_value(name, from.type);
    Members::ValueInfo& to = m.values[made.id];
    to.producer = index;
    if (from.content) to.content = std::make_unique<Shape>(*from.content);
    if (from.known) to.known = std::make_unique<Literal>(*from.known);
  }
  forget_replica(proto);
  if (m.replica != kEveryReplica) write_replica(proto, m.replica);
  m.nodes.push_back(std::move(taken));
  return {*this, index};
}

Value Graph::take_constant(const Graph& from, Value constant, const std::string& name) {
  const Members::ValueInfo& taken = from.members().info(constant);
  const Value value = members_->new_value(name, taken.type);
  members_->values[value.id].literal = taken.literal;
  return value;
}

Value Graph::add_value(const NodeSpec& spec, const Site& site) {
  return add(spec, site).outputs()[0];
}

void Graph::output(Value value) {
  Members& m = *members_;
  if (m.info(value).is_output) return;
  m.values[value.id].is_output = true;
  m.outputs.push_back(value);
}

void Graph::rename(Value value, const std::string& name) {
  Members& m = *members_;
  Members::ValueInfo& changed = m.values[value.id];
  if (changed.name == name) return;
  check(m.by_name.insert(name, value.id, m.names()), "cannot rename ", changed.name, ": '", name,
        "' is taken");
  m.by_name.erase(changed.name, m.names());
  if (changed.producer >= 0) {
    onnx::NodeProto& node = *m.proto->mutable_node(changed.producer);
    std::ranges::replace(*node.mutable_output(), changed.name, name);
    if (node.name() == changed.name) node.set_name(name);
  }
  for (int user : changed.consumers)
    std::ranges::replace(*m.proto->mutable_node(user)->mutable_input(), changed.name, name);
  changed.name = name;
}

// ---- Graph: scopes, origins

std::string Graph::scoped(std::string_view name) const { return members_->scoped(name); }
const std::string& Graph::scope() const { return members_->scope; }
void Graph::set_scope(std::string scope) { members_->scope = std::move(scope); }
int Graph::replica() const { return members_->replica; }
void Graph::set_replica(int replica) { members_->replica = replica; }

void Graph::set_origin(std::optional<std::string> origin) {
  members_->origin_set = std::move(origin);
}
const std::optional<std::string>& Graph::origin() const { return members_->origin_set; }
void Graph::inherit_origins(std::string otherwise) {
  members_->inherited_otherwise = std::move(otherwise);
}
const std::string& Graph::origin(Value value) const { return members_->origin(value); }

NameScope::NameScope(Graph& graph, std::string_view name) : graph_(graph), saved_(graph.scope()) {
  graph_.set_scope(graph_.scoped(name));
}

// ---- Graph: reading

int Graph::node_count() const { return static_cast<int>(members_->nodes.size()); }
int Graph::value_count() const { return static_cast<int>(members_->values.size()); }
const std::vector<Value>& Graph::inputs() const { return members_->inputs; }
const std::vector<Value>& Graph::outputs() const { return members_->outputs; }

Value Graph::find(std::string_view name) const { return members_->find(name); }
Value Graph::at(std::string_view name) const { return members_->at(name); }

const std::string& Graph::name(Value value) const { return members_->info(value).name; }
const TensorType& Graph::type(Value value) const { return members_->info(value).type; }

const Shape& Graph::shape(Value value) const {
  const TensorType& known = type(value);
  check(known.ranked, "the number of dimensions of '", name(value), "' is not known");
  return known.shape;
}

const Literal* Graph::literal(Value value) const { return members_->info(value).literal.get(); }
const Shape* Graph::content(Value value) const { return members_->info(value).content.get(); }

std::optional<Node> Graph::producer(Value value) const {
  const int index = members_->info(value).producer;
  if (index < 0) return std::nullopt;
  return Node(*this, index);
}

const std::vector<int>& Graph::consumers(Value value) const {
  return members_->info(value).consumers;
}

}  // namespace lockstep
