// SPDX-License-Identifier: Apache-2.0
#include "graph/attribute_reader.h"
#include "graph/graph_members.h"
#include "graph/onnx.h"
#include "graph/printable.h"

namespace lockstep {

const onnx::NodeProto& proto_of(const Node& node) {
  return node.graph().members().proto->node(node.index());
}

const std::string& Node::type() const { return proto_of(*this).op_type(); }
const std::string& Node::domain() const { return proto_of(*this).domain(); }
const std::string& Node::name() const { return proto_of(*this).name(); }
std::span<const Value> Node::inputs() const { return graph_->members().nodes[index_].inputs; }
std::span<const Value> Node::outputs() const { return graph_->members().nodes[index_].outputs; }
int Node::replica() const { return graph_->members().nodes[index_].replica; }
const std::string& Node::where() const { return proto_of(*this).doc_string(); }
const Op* Node::op() const { return graph_->members().nodes[index_].op; }

AttributeReader Node::attributes() const { return reader_of(name(), proto_of(*this)); }

std::vector<std::string> Node::attribute_texts() const {
  std::vector<std::string> texts;
  for (const auto& attribute : proto_of(*this).attribute()) texts.push_back(text_of(attribute));
  return texts;
}

std::string Node::description() const {
  std::string text = printable(name() + " (" + type());
  if (replica() != kEveryReplica) text += join(", replica ", replica());
  if (!where().empty()) text += ", " + printable(where());
  return text + ")";
}

}  // namespace lockstep
