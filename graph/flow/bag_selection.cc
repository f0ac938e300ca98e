// SPDX-License-Identifier: Apache-2.0
// EmbeddingBag with a padding index: a loop over the positions of one bag selects positions.
#include <algorithm>
#include <set>

#include "graph/flow/bag_body.h"
#include "graph/onnx.h"

namespace lockstep {
namespace {

using Kind = BagItem::Kind;

}  // namespace

void BagBody::add_selection(const onnx::NodeProto& node, Items& items) {
  const auto* body = graph_attribute(node, "body");
  require_bags(body && node.input_size() == 4 && node.input(0).empty() && body->input_size() == 4 &&
               body->output_size() == 3 && node.output_size() == 2);
  const int counter = find(node.input(2), items).is(Kind::single) ? 2 : 3, list = 5 - counter;
  const BagItem start = find(node.input(counter), items), none_yet = find(node.input(list), items);
  require_bags(start.is(Kind::single) && none_yet.is(Kind::same) &&
               graph_.shape(none_yet.value) == Shape{0});
  const std::string& position = body->input(counter).name();
  const Value table = table_at(*body, position, items);
  const Value positions = nodes_.range(nodes_.rows_in(table));
  Items inside;  // values of the bags are not known for positions
  inside[position] = {.kind = Kind::single, .value = positions, .offset = 0};
  inside[body->input(list).name()] = {.kind = Kind::collected};
  std::set<std::string> ends;  // names that `inside` cannot have
  for (const auto& [name, item] : items) ends.insert(name);
  const onnx::NodeProto* goes_on = condition_of(*body);
  require_bags(goes_on && goes_on->input(0) == body->output(counter - 1).name());
  const BagItem end = find(goes_on->input(1), items), begins = find(node.input(1), items);
  require_bags(end.is(Kind::single) && begins.starts == start.value && begins.ends == end.value);
  BagBody selection(importer_, nodes_, scope_, guarded_);
  onnx::GraphProto steps = *body;
  drop_condition(steps);
  for (const std::string& name : captured_names(steps)) require_bags(ends.count(name) == 0);
  selection.add(steps, inside);
  const BagItem next = selection.find(body->output(counter - 1).name(), inside);
  const BagItem made = selection.find(body->output(list - 1).name(), inside);
  require_bags(next.offset == 1 && made.is(Kind::appended) && made.value == positions);
  items[node.output(list - 2)] = {.kind = Kind::rows,
                                  .value = positions,
                                  .starts = start.value,
                                  .ends = end.value,
                                  .keep = made.keep};
}

Value BagBody::table_at(const onnx::GraphProto& body, const std::string& position,
                        const Items& items) {
  for (const auto& node : body.node())
    if (node.op_type() == "Gather" && node.input_size() == 2 && node.input(1) == position) {
      const BagItem table = find(node.input(0), items);
      require_bags(table.is(Kind::same) && graph_.shape(table.value).size() == 1);
      return table.value;
    }
  throw NoBagLoop{};
}

void BagBody::drop_condition(onnx::GraphProto& body) {
  const onnx::NodeProto* condition = condition_of(body);
  require_bags(condition);
  const std::string names[] = {condition->output(0), body.output(0).name()};
  auto& nodes = *body.mutable_node();
  for (int i = nodes.size() - 1; i >= 0; --i)
    if (std::ranges::count(names, nodes[i].output(0)) > 0) nodes.DeleteSubrange(i, 1);
  body.mutable_output()->DeleteSubrange(0, 1);
}

const onnx::NodeProto* condition_of(const onnx::GraphProto& body) {
  std::string name = body.output(0).name();
  // A copy of the condition may be the body's output.
  for (int i = body.node_size() - 1; i >= 0; --i) {
    const onnx::NodeProto& node = body.node(i);
    if (node.output(0) != name) continue;
    if (node.op_type() == "Less" && node.input_size() == 2) return &node;
    if (node.op_type() != "Identity" || node.input_size() != 1) return nullptr;
    name = node.input(0);
  }
  return nullptr;
}

}  // namespace lockstep
