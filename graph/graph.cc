// SPDX-License-Identifier: Apache-2.0
#include "graph/graph.h"

#include <algorithm>

#include "graph/infer.h"
#include "graph/known.h"
#include "graph/nearest.h"
#include "graph/onnx.h"
#include "graph/placement.h"
#include "graph/random_stream.h"

namespace lockstep {

// ---- Graph: building

Graph::Graph(const OpSet& ops, std::string name)
    : ops_(&ops), name_(std::move(name)), proto_(std::make_unique<onnx::GraphProto>()) {}
Graph::~Graph() = default;
Graph::Graph(Graph&&) noexcept = default;
Graph& Graph::operator=(Graph&&) noexcept = default;

Graph Graph::clone() const {
  Graph copy(*ops_, name_);
  copy.scope_ = scope_;
  copy.replica_ = replica_;
  copy.origin_ = origin_;
  copy.inherited_otherwise_ = inherited_otherwise_;
  *copy.proto_ = *proto_;
  copy.nodes_ = nodes_;
  copy.inputs_ = inputs_;
  copy.outputs_ = outputs_;
  copy.by_name_ = by_name_;
  copy.next_suffix_ = next_suffix_;
  copy.values_.reserve(values_.size());
  for (const ValueInfo& from : values_) {
    ValueInfo to;
    to.name = from.name;
    to.type = from.type;
    to.producer = from.producer;
    to.is_output = from.is_output;
    to.declared_at = from.declared_at;
    to.consumers = from.consumers;
    to.literal = from.literal;
    if (from.content) to.content = std::make_unique<Shape>(*from.content);
    if (from.known) to.known = std::make_unique<Literal>(*from.known);
    copy.values_.push_back(std::move(to));
  }
  return copy;
}

Value Graph::new_value(std::string name, TensorType type) {
  check(!name.empty(), "a value needs a name");
  Value value{static_cast<int>(values_.size())};
  check(by_name_.insert(name, value.id, names()), "graph '", name_, "' already has a value named '",
        name, "'");
  ValueInfo info;
  info.name = std::move(name);
  info.type = std::move(type);
  values_.push_back(std::move(info));
  return value;
}

Value Graph::input(const std::string& name, const TensorType& type, const std::string& origin) {
  Value value = new_value(scoped(name), type);
  values_[value.id].declared_at = origin;
  inputs_.push_back(value);
  return value;
}

Value Graph::constant(const std::string& name, Literal literal) {
  Value value = new_value(fresh_name(scoped(name)), literal.type());
  values_[value.id].literal = std::make_shared<const Literal>(std::move(literal));
  return value;
}

std::string Graph::fresh_name(const std::string& base) {
  if (!find(base)) return base;
  int& suffix = next_suffix_[base];
  std::string name;
  do name = base + "_" + std::to_string(++suffix);
  while (find(name));
  return name;
}

void Graph::inherit_origins(std::string otherwise) { inherited_otherwise_ = std::move(otherwise); }

const std::string& Graph::origin(Value value) const {
  const ValueInfo& known = info(value);
  return known.producer < 0 ? known.declared_at : node(known.producer).where();
}

std::string Graph::origin_of(const NodeSpec& spec, const Site& site) const {
  if (origin_) return *origin_;
  if (!inherited_otherwise_) return site.where.text();
  for (Value operand : spec.inputs)
    if (operand && !origin(operand).empty()) return origin(operand);
  return *inherited_otherwise_;
}

Node Graph::add(const NodeSpec& spec, const Site& site) {
  const std::string origin = origin_of(spec, site);
  NodeInfo node;
  node.op = ops_->named(spec.domain, spec.type, origin);
  node.inputs = spec.inputs;
  while (!node.inputs.empty() && !node.inputs.back()) node.inputs.pop_back();
  node.replica = replica_;

  // Filled outside the graph, so that a rejected node leaves no trace.
  onnx::NodeProto proto;
  proto.set_op_type(std::string(spec.type));
  proto.set_domain(std::string(spec.domain));
  proto.set_name(fresh_name(scoped(site.name.empty() ? spec.type : std::string_view(site.name))));
  proto.set_doc_string(origin);
  for (Value value : node.inputs) proto.add_input(value ? info(value).name : "");
  for (int i = 0; i < spec.outputs; ++i) {
    bool named = i < static_cast<int>(spec.output_names.size());
    const bool omitted = named && spec.output_names[i].empty();
    proto.add_output(omitted  ? ""
                     : named  ? scoped(spec.output_names[i])
                     : i == 0 ? proto.name()
                              : fresh_name(join(proto.name(), "_", i)));
  }
  for (const auto& [name, value] : spec.attributes) to_proto(name, value, *proto.add_attribute());
  if (replica_ != kEveryReplica) write_replica(proto, replica_);

  return append(std::move(proto), std::move(node), origin);
}

Node Graph::adopt(onnx::NodeProto proto) {
  // Node names are optional in ONNX, but errors and plans print them.
  if (proto.name().empty() && proto.output_size() > 0) proto.set_name(proto.output(0));
  NodeInfo node;
  node.op = ops_->named(proto.domain(), proto.op_type(), proto.name());
  for (const std::string& name : proto.input())
    node.inputs.push_back(name.empty() ? none : at(name));
  while (!node.inputs.empty() && !node.inputs.back()) node.inputs.pop_back();
  for (const std::string& name : proto.output())
    check(!name.empty() || !node.op->collective, proto.name(), " (", proto.op_type(),
          "): each of its replicas needs an output");
  node.replica = read_replica(proto);
  std::string where = proto.doc_string();
  return append(std::move(proto), std::move(node), where);
}

Node Graph::copy(const Node& node, const std::vector<Value>& inputs) {
  onnx::NodeProto proto = node.proto();
  NodeInfo copied;
  copied.op = ops_->named(proto.domain(), proto.op_type(), proto.name());
  copied.inputs = inputs;
  copied.replica = replica_;
  proto.clear_input();
  for (Value value : inputs) proto.add_input(value ? info(value).name : "");
  for (std::string& name : *proto.mutable_output())
    if (!name.empty()) name = scoped(name);
  proto.set_name(fresh_name(scoped(proto.name())));
  forget_replica(proto);
  if (replica_ != kEveryReplica) write_replica(proto, replica_);
  std::string where = proto.doc_string();
  return append(std::move(proto), std::move(copied), where);
}

void Graph::reserve(std::size_t nodes, std::size_t values) {
  proto_->mutable_node()->Reserve(static_cast<int>(nodes));
  nodes_.reserve(nodes);
  values_.reserve(values);
  by_name_.reserve(values);
}

Node Graph::take(const Node& node, const std::vector<Value>& inputs, const Names& names) {
  const int index = node_count();
  NodeInfo taken{inputs, {}, node.op(), replica_};
  onnx::NodeProto& proto = *proto_->add_node();
  const onnx::NodeProto& from_proto = node.proto();
  proto.set_op_type(from_proto.op_type());
  if (!from_proto.domain().empty()) proto.set_domain(from_proto.domain());
  proto.set_doc_string(from_proto.doc_string());
  *proto.mutable_attribute() = from_proto.attribute();
  proto.set_name(names.node);
  for (Value value : inputs) {
    proto.add_input(value ? info(value).name : "");
    if (value) values_[value.id].consumers.push_back(index);
  }
  for (std::size_t i = 0; i < names.outputs.size(); ++i) {
    const std::string& name = names.outputs[i];
    proto.add_output(name);
    taken.outputs.push_back(none);
    if (name.empty()) continue;
    const ValueInfo& from =
        node.graph().info(node.outputs()[std::min(i, node.outputs().size() - 1)]);
    const Value made = taken.outputs.back() = new_value(name, from.type);
    ValueInfo& to = values_[made.id];
    to.producer = index;
    if (from.content) to.content = std::make_unique<Shape>(*from.content);
    if (from.known) to.known = std::make_unique<Literal>(*from.known);
  }
  forget_replica(proto);
  if (replica_ != kEveryReplica) write_replica(proto, replica_);
  nodes_.push_back(std::move(taken));
  return {*this, index};
}

Value Graph::take_constant(const Graph& from, Value constant, const std::string& name) {
  const ValueInfo& taken = from.info(constant);
  Value value = new_value(name, taken.type);
  values_[value.id].literal = taken.literal;
  return value;
}

Node Graph::append(onnx::NodeProto proto, NodeInfo node, const std::string& where) {
  if (node.op->draws) write_random_stream(proto);
  Inferred inferred;
  try {
    inferred = infer(proto, node);
  } catch (const Error& error) {
    std::string operands;
    for (Value value : node.inputs)
      operands += value ? join("\n  ", name(value), " ", type(value)) : "\n  (left out)";
    rethrow_as(error, NodeName{proto.name()}, " (", proto.op_type(),
               node.replica >= 0 ? join(", replica ", node.replica) : "", where.empty() ? "" : ", ",
               where, "): ", error.what(), operands.empty() ? "" : "; inputs:", operands);
  }
  int index = node_count();
  // An omitted trailing output has an empty name and is not a value.
  int outputs = proto.output_size();
  for (int i = 0; i < outputs; ++i) {
    node.outputs.push_back(proto.output(i).empty() ? none
                                                   : new_value(proto.output(i), inferred.types[i]));
    if (node.outputs.back()) values_[node.outputs.back().id].producer = index;
  }
  for (Value value : node.inputs)
    if (value) values_[value.id].consumers.push_back(index);
  if (inferred.content && node.outputs[0]) learn_content(node.outputs[0], *inferred.content);
  *proto_->add_node() = std::move(proto);
  nodes_.push_back(std::move(node));
  return {*this, index};
}

Value Graph::add_value(const NodeSpec& spec, const Site& site) {
  return add(spec, site).outputs()[0];
}

Inferred Graph::infer(onnx::NodeProto& proto, const NodeInfo& node) const {
  InferenceInputs inputs;
  for (Value value : node.inputs) {
    inputs.types.push_back(value ? &info(value).type : nullptr);
    const Literal* constant = value ? info(value).literal.get() : nullptr;
    inputs.constants.push_back(value && !constant ? info(value).known.get() : constant);
    inputs.contents.push_back(value ? info(value).content.get() : nullptr);
  }
  return infer_node(*node.op, proto, inputs);
}

void Graph::learn_content(Value value, const Shape& content) {
  ValueInfo& learned = values_[value.id];
  learned.content = std::make_unique<Shape>(content);
  if (auto literal = literal_of(content, learned.type))
    learned.known = std::make_unique<Literal>(std::move(*literal));
}

void Graph::output(Value value) {
  if (info(value).is_output) return;
  values_[value.id].is_output = true;
  outputs_.push_back(value);
}

void Graph::rename(Value value, const std::string& name) {
  ValueInfo& changed = values_[value.id];
  if (changed.name == name) return;
  check(by_name_.insert(name, value.id, names()), "cannot rename ", changed.name, ": '", name,
        "' is taken");
  by_name_.erase(changed.name, names());
  if (changed.producer >= 0) {
    auto& outputs = *proto_->mutable_node(changed.producer)->mutable_output();
    std::replace(outputs.begin(), outputs.end(), changed.name, name);
    auto& node = *proto_->mutable_node(changed.producer);
    if (node.name() == changed.name) node.set_name(name);
  }
  for (int user : changed.consumers) {
    auto& inputs = *proto_->mutable_node(user)->mutable_input();
    std::replace(inputs.begin(), inputs.end(), changed.name, name);
  }
  changed.name = name;
}

std::string Graph::scoped(std::string_view name) const {
  return scope_.empty() ? std::string(name) : scope_ + "/" + std::string(name);
}

NameScope::NameScope(Graph& graph, std::string_view name) : graph_(graph), saved_(graph.scope()) {
  graph_.set_scope(graph_.scoped(name));
}

// ---- Graph: reading

int Graph::node_count() const { return static_cast<int>(nodes_.size()); }

const Graph::ValueInfo& Graph::info(Value value) const {
  check(value.id >= 0 && value.id < value_count(), "graph '", name_, "' has no value number ",
        value.id, "; does the value belong to another graph?");
  return values_[value.id];
}

Value Graph::find(std::string_view name) const { return {by_name_.find(name, names())}; }

Value Graph::at(std::string_view name) const {
  if (Value value = find(name)) return value;
  std::vector<std::string> names;
  for (const ValueInfo& value : values_) names.push_back(value.name);
  std::string near = nearest(name, names);
  fail("graph '", name_, "' has no value '", name, "'",
       near.empty() ? "" : join("; the nearest is '", near, "'"));
}

const std::string& Graph::name(Value value) const { return info(value).name; }
const TensorType& Graph::type(Value value) const { return info(value).type; }

const Shape& Graph::shape(Value value) const {
  check(info(value).type.ranked, "the number of dimensions of '", name(value), "' is not known");
  return info(value).type.shape;
}

const Literal* Graph::literal(Value value) const { return info(value).literal.get(); }
const Shape* Graph::content(Value value) const { return info(value).content.get(); }

std::optional<Node> Graph::producer(Value value) const {
  int index = info(value).producer;
  if (index < 0) return std::nullopt;
  return Node(*this, index);
}

const std::vector<int>& Graph::consumers(Value value) const { return info(value).consumers; }

}  // namespace lockstep
