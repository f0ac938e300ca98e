// SPDX-License-Identifier: Apache-2.0
#include "graph/graph.h"
#include "graph/onnx.h"
#include "graph/printable.h"

namespace lockstep {

const onnx::NodeProto& Node::proto() const { return graph_->proto_->node(index_); }
const std::string& Node::type() const { return proto().op_type(); }
const std::string& Node::domain() const { return proto().domain(); }
const std::string& Node::name() const { return proto().name(); }
std::span<const Value> Node::inputs() const { return graph_->nodes_[index_].inputs; }
std::span<const Value> Node::outputs() const { return graph_->nodes_[index_].outputs; }
int Node::replica() const { return graph_->nodes_[index_].replica; }
const std::string& Node::where() const { return proto().doc_string(); }
const Op* Node::op() const { return graph_->nodes_[index_].op; }

AttributeReader Node::attributes() const {
  std::vector<const onnx::AttributeProto*> attributes;
  for (const auto& attribute : proto().attribute()) attributes.push_back(&attribute);
  return AttributeReader(name(), std::move(attributes));
}

std::vector<std::string> Node::attribute_texts() const {
  std::vector<std::string> texts;
  for (const auto& attribute : proto().attribute()) texts.push_back(text_of(attribute));
  return texts;
}

std::string Node::description() const {
  std::string text = printable(name() + " (" + type());
  if (replica() != kEveryReplica) text += join(", replica ", replica());
  if (!where().empty()) text += ", " + printable(where());
  return text + ")";
}

}  // namespace lockstep
