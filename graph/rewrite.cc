// SPDX-License-Identifier: Apache-2.0
// Changes to an existing graph, for passes.
#include <algorithm>

#include "graph/graph.h"
#include "graph/onnx.h"

namespace lockstep {

void Graph::reorder(const std::vector<int>& order) {
  check(order.size() == nodes_.size(), "reorder: ", order.size(), " of ", nodes_.size(), " nodes");
  std::vector<int> new_index(nodes_.size(), -1);
  for (int i = 0; i < static_cast<int>(order.size()); ++i) {
    check(order[i] >= 0 && order[i] < node_count() && new_index[order[i]] < 0, "reorder: node ",
          order[i], " is listed twice or does not exist");
    for (Value input : nodes_[order[i]].inputs) {
      int made_by = input ? values_[input.id].producer : -1;
      check(made_by < 0 || new_index[made_by] >= 0, "reorder: ", node(order[i]).name(),
            " would come before its operand ", input ? name(input) : "");
    }
    new_index[order[i]] = i;
  }
  std::vector<NodeInfo> nodes(nodes_.size());
  std::vector<onnx::NodeProto*> protos(nodes_.size());
  for (int i = node_count() - 1; i >= 0; --i) {
    nodes[new_index[i]] = std::move(nodes_[i]);
    protos[new_index[i]] = proto_->mutable_node()->ReleaseLast();
  }
  for (onnx::NodeProto* proto : protos) proto_->mutable_node()->AddAllocated(proto);
  nodes_ = std::move(nodes);
  for (ValueInfo& value : values_) {
    if (value.producer >= 0) value.producer = new_index[value.producer];
    for (int& user : value.consumers) user = new_index[user];
    std::sort(value.consumers.begin(), value.consumers.end());
  }
}

std::vector<Value> Graph::keep(const std::vector<bool>& kept) {
  Graph smaller(*ops_, name_);
  std::vector<Value> moved(values_.size());
  std::vector<bool> used(values_.size(), false);
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    if (kept[i])
      for (Value input : nodes_[i].inputs)
        if (input) used[input.id] = true;
  for (Value value : outputs_) used[value.id] = true;

  auto move = [&](Value value) {
    ValueInfo& from = values_[value.id];
    moved[value.id] = smaller.new_value(from.name, std::move(from.type));
    smaller.values_.back().literal = std::move(from.literal);
    smaller.values_.back().content = std::move(from.content);
    smaller.values_.back().known = std::move(from.known);
    smaller.values_.back().declared_at = std::move(from.declared_at);
  };
  for (Value value : inputs_) {
    move(value);
    smaller.inputs_.push_back(moved[value.id]);
  }
  for (int id = 0; id < value_count(); ++id)
    if (used[id] && values_[id].literal && !moved[id]) move({id});
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (!kept[i]) continue;
    int index = smaller.node_count();
    NodeInfo& node = nodes_[i];
    for (Value& input : node.inputs) {
      if (!input) continue;
      input = moved[input.id];
      check(bool(input), "keep: ", this->node(static_cast<int>(i)).name(), " lost an operand");
      smaller.values_[input.id].consumers.push_back(index);
    }
    for (Value& output : node.outputs) {
      if (!output) continue;
      move(output);
      output = moved[output.id];
      smaller.values_[output.id].producer = index;
    }
    *smaller.proto_->add_node() = std::move(*proto_->mutable_node(static_cast<int>(i)));
    smaller.nodes_.push_back(std::move(node));
  }
  for (Value value : outputs_)
    if (moved[value.id]) smaller.output(moved[value.id]);
  smaller.scope_ = scope_;
  smaller.replica_ = replica_;
  smaller.next_suffix_ = next_suffix_;
  smaller.origin_ = std::move(origin_);
  smaller.inherited_otherwise_ = std::move(inherited_otherwise_);
  *this = std::move(smaller);
  return moved;
}

void Graph::fold(Value value, Literal literal) {
  ValueInfo& folded = values_[value.id];
  check(folded.type.dtype == literal.dtype(), "'", folded.name, "' is ", folded.type,
        " but folds to ", literal.type());
  folded.type = literal.type();
  folded.literal = std::make_shared<const Literal>(std::move(literal));
}

void Graph::set_attribute(int node, const std::string& name, const AttributeValue& value) {
  for (auto& attribute : *proto_->mutable_node(node)->mutable_attribute())
    if (attribute.name() == name) {
      attribute.Clear();
      return to_proto(name, value, attribute);
    }
  to_proto(name, value, *proto_->mutable_node(node)->add_attribute());
}

void Graph::drop_attribute(int node, const std::string& name) {
  auto& attributes = *proto_->mutable_node(node)->mutable_attribute();
  for (int i = attributes.size() - 1; i >= 0; --i)
    if (attributes[i].name() == name) attributes.DeleteSubrange(i, 1);
}

}  // namespace lockstep
