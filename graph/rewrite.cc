// SPDX-License-Identifier: Apache-2.0
// Changes to an existing graph, for passes.
#include <algorithm>

#include "graph/attribute_reader.h"
#include "graph/graph_members.h"
#include "graph/onnx.h"

namespace lockstep {

void Graph::reorder(const std::vector<int>& order) {
  Members& m = *members_;
  check(order.size() == m.nodes.size(), "reorder: the order lists ", order.size(), " of ",
        m.nodes.size(), " nodes");
  std::vector<int> new_index(m.nodes.size(), -1);
  for (int i = 0; i < static_cast<int>(order.size()); ++i) {
    check(order[i] >= 0 && order[i] < node_count() && new_index[order[i]] < 0, "reorder: node ",
          order[i], " is listed twice or does not exist");
    for (Value input : m.nodes[order[i]].inputs) {
      int made_by = input ? m.values[input.id].producer : -1;
      check(made_by < 0 || new_index[made_by] >= 0, "reorder: ", node(order[i]).name(),
            " would come before its operand ", input ? name(input) : "");
    }
    new_index[order[i]] = i;
  }
  std::vector<Members::NodeInfo> nodes(m.nodes.size());
  std::vector<onnx::NodeProto*> protos(m.nodes.size());
  for (int i = node_count() - 1; i >= 0; --i) {
    nodes[new_index[i]] = std::move(m.nodes[i]);
    protos[new_index[i]] = m.proto->mutable_node()->ReleaseLast();
  }
  for (onnx::NodeProto* proto : protos) m.proto->mutable_node()->AddAllocated(proto);
  m.nodes = std::move(nodes);
  for (Members::ValueInfo& value : m.values) {
    if (value.producer >= 0) value.producer = new_index[value.producer];
    for (int& user : value.consumers) user = new_index[user];
    std::sort(value.consumers.begin(), value.consumers.end());
  }
}

std::vector<Value> Graph::keep(const std::vector<bool>& kept) {
  check(kept.size() == members_->nodes.size(), "keep: a choice for ", kept.size(), " of ",
        members_->nodes.size(), " nodes");
  Graph smaller(ops(), name());
  Members &from = *members_, &to = *smaller.members_;
  std::vector<Value> moved(from.values.size());
  std::vector<bool> used(from.values.size(), false);
  for (std::size_t i = 0; i < from.nodes.size(); ++i)
    if (kept[i])
      for (Value input : from.nodes[i].inputs)
        if (input) used[input.id] = true;
  for (Value value : from.outputs) used[value.id] = true;

  auto move = [&](Value value) {
    Members::ValueInfo& moving = from.values[value.id];
    moved[value.id] = to.new_value(moving.name, std::move(moving.type));
    to.values.back().literal = std::move(moving.literal);
    to.values.back().content = std::move(moving.content);
    to.values.back().known = std::move(moving.known);
    to.values.back().declared_at = std::move(moving.declared_at);
  };
  for (Value value : from.inputs) {
    move(value);
    to.inputs.push_back(moved[value.id]);
  }
  for (int id = 0; id < value_count(); ++id)
    if (used[id] && from.values[id].literal && !moved[id]) move({id});
  for (std::size_t i = 0; i < from.nodes.size(); ++i) {
    if (!kept[i]) continue;
    int index = smaller.node_count();
    Members::NodeInfo& node = from.nodes[i];
    for (Value& input : node.inputs) {
      if (!input) continue;
      input = moved[input.id];
      check(bool(input), "keep: ", this->node(static_cast<int>(i)).name(), " lost an operand");
      to.values[input.id].consumers.push_back(index);
    }
    for (Value& output : node.outputs) {
      if (!output) continue;
      move(output);
      output = moved[output.id];
      to.values[output.id].producer = index;
    }
    *to.proto->add_node() = std::move(*from.proto->mutable_node(static_cast<int>(i)));
    to.nodes.push_back(std::move(node));
  }
  for (Value value : from.outputs)
    if (moved[value.id]) smaller.output(moved[value.id]);
  to.scope = from.scope;
  to.replica = from.replica;
  to.next_suffix = from.next_suffix;
  to.origin_set = std::move(from.origin_set);
  to.inherited_otherwise = std::move(from.inherited_otherwise);
  *this = std::move(smaller);
  return moved;
}

void Graph::fold(Value value, Literal literal) {
  Members& m = *members_;
  Members::ValueInfo& folded = m.values[value.id];
  check(folded.type.dtype == literal.dtype(), "'", folded.name, "' is ", folded.type,
        " but folds to ", literal.type());
  folded.type = literal.type();
  folded.literal = std::make_shared<const Literal>(std::move(literal));
}

void Graph::set_attribute(int node, const std::string& name, const AttributeValue& value) {
  Members& m = *members_;
  for (auto& attribute : *m.proto->mutable_node(node)->mutable_attribute())
    if (attribute.name() == name) {
      attribute.Clear();
      return to_proto(name, value, attribute);
    }
  to_proto(name, value, *m.proto->mutable_node(node)->add_attribute());
}

void Graph::drop_attribute(int node, const std::string& name) {
  Members& m = *members_;
  auto& attributes = *m.proto->mutable_node(node)->mutable_attribute();
  for (int i = attributes.size() - 1; i >= 0; --i)
    if (attributes[i].name() == name) attributes.DeleteSubrange(i, 1);
}

}  // namespace lockstep
