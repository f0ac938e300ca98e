// SPDX-License-Identifier: Apache-2.0
#include "graph/opset/newer_node.h"

#include <algorithm>

#include "graph/attribute_reader.h"
#include "graph/known.h"
#include "lockstep/types.h"

namespace lockstep {

NewerNode::NewerNode(Graph& graph, onnx::NodeProto proto, int64_t opset)
    : graph_(graph), proto_(std::move(proto)), opset_(opset), where_(proto_.doc_string()) {}

std::string NewerNode::description() const {
  return join(label_of(proto_), " (", type(), " of opset ", opset_, ")");
}

AttributeReader NewerNode::attributes() const { return reader_of(description(), proto_); }

Value NewerNode::input(std::size_t i) const {
  const int at = static_cast<int>(i);
  return at < proto_.input_size() && !proto_.input(at).empty() ? graph_.at(proto_.input(at)) : none;
}

DType NewerNode::dtype() const { return graph_.dtype(input(0)); }

Shape NewerNode::shape(std::size_t i) const {
  const TensorType& type = graph_.type(input(i));
  if (!type.ranked)
    refuse("the number of dimensions of '", graph_.name(input(i)), "' is not known");
  return type.shape;
}

std::vector<int64_t> NewerNode::integers(std::size_t i, const char* what) const {
  const Value value = input(i);
  if (const Literal* literal = graph_.literal(value)) return literal->integers();
  if (const Shape* content = graph_.content(value))
    if (auto literal = literal_of(*content, graph_.type(value))) return literal->integers();
  refuse("its ", what, ", '", graph_.name(value), "', are not constant");
}

int64_t NewerNode::size(std::size_t input, int64_t axis) const {
  const Dim dim = shape(input)[axis];
  if (!dim.known())
    refuse("the size of '", graph_.name(this->input(input)), "' ", graph_.type(this->input(input)),
           " along axis ", axis, " is not known");
  return dim.size();
}

bool NewerNode::wants(int output) const {
  return output < proto_.output_size() && !proto_.output(output).empty();
}

void NewerNode::drop_attribute(const std::string& name) {
  auto& list = *proto_.mutable_attribute();
  for (int i = list.size() - 1; i >= 0; --i)
    if (list[i].name() == name) list.DeleteSubrange(i, 1);
}

void NewerNode::set_attribute(const std::string& name, const AttributeValue& value) {
  drop_attribute(name);
  to_proto(name, value, *proto_.add_attribute());
}

void NewerNode::set_inputs(const std::vector<Value>& inputs) {
  proto_.clear_input();
  for (Value value : inputs) proto_.add_input(value ? graph_.name(value) : "");
}

void NewerNode::make_own() { proto_.set_domain(kOwnDomain); }

Value NewerNode::add(const char* type, const std::vector<Value>& inputs,
                     const Attributes& attributes) {
  const std::string name = join(proto_.output(0), "_", type, "_", made_++);
  return graph_.add_value({.type = type, .inputs = inputs, .attributes = attributes}, site(name));
}

Value NewerNode::constant(Literal literal) {
  return graph_.constant(join(proto_.output(0), "_constant_", made_++), std::move(literal));
}

Value NewerNode::scalar(double value, DType type) {
  if (!is_floating(type)) refuse("is not supported for ", type);
  return constant(Literal::rounded_scalar(type, value));
}

Value NewerNode::vector(const std::vector<int64_t>& values) {
  return constant(Literal::vector(values));
}

void NewerNode::become(const char* type, const std::vector<Value>& inputs,
                       const Attributes& attributes, int output) {
  graph_.add({.type = type,
              .inputs = inputs,
              .attributes = attributes,
              .output_names = {proto_.output(output)}},
             site(proto_.name().empty() || output > 0 ? proto_.output(output) : proto_.name()));
  rewritten_ = true;
}

int64_t normal_axis(const NewerNode& node, int64_t axis, std::size_t rank) {
  const auto size = static_cast<int64_t>(rank);
  if (axis < -size || axis >= size)
    fail(node.description(), ": axis ", axis, " is outside of ", rank, " dimensions");
  return axis < 0 ? axis + size : axis;
}

}  // namespace lockstep
