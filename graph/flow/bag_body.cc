// SPDX-License-Identifier: Apache-2.0
#include "graph/flow/bag_body.h"

#include <set>

#include "graph/attribute_reader.h"
#include "graph/onnx.h"

namespace lockstep {
namespace {

using Kind = BagItem::Kind;

const std::set<std::string> kElementwise{
    "Add", "Sub", "Mul",   "Div", "Less", "LessOrEqual", "Greater",  "GreaterOrEqual",
    "And", "Or",  "Equal", "Not", "Cast", "CastLike",    "Identity", "Neg"};

}  // namespace

void BagBody::add(const onnx::GraphProto& body, Items& items) {
  Names given = captured_names(body);
  for (const auto& input : body.input()) given.insert(input.name());
  for (const auto& tensor : body.initializer()) {
    given.insert(tensor.name());
    // No parameter: PyTorch keeps parameters outside of loops.
    scope_.values[tensor.name()] = {
        .tensor = nodes_.constant(from_proto(tensor, importer_.options().place, tensor.name()))};
  }
  for (int index : sorted_nodes(body, given)) add(body.node(index), items);
}

BagItem BagBody::find(const std::string& name, const Items& items) const {
  if (auto found = items.find(name); found != items.end()) return found->second;
  if (name.empty()) return {};
  const FlowValue value = importer_.find(name, scope_);
  require_bags(!!value.tensor);
  return {.value = value.tensor};
}

void BagBody::add(const onnx::NodeProto& node, Items& items) {
  require_bags(node.domain().empty() || node.domain() == "ai.onnx");
  bool varies = false;
  for (const std::string& name : node.input()) varies = varies || items.count(name) > 0;
  for (const std::string& name : captured_names(node)) varies = varies || items.count(name) > 0;
  if (!varies) return importer_.add(node, scope_);
  const std::string& type = node.op_type();
  if (type == "If") return add_if(node, items);
  if (type == "Loop") return add_selection(node, items);
  std::vector<BagItem> in;
  for (const std::string& name : node.input()) in.push_back(find(name, items));
  require_bags(node.output_size() == 1 && !in.empty());
  items[node.output(0)] = result_of(node, in);
}

BagItem BagBody::result_of(const onnx::NodeProto& node, const std::vector<BagItem>& in) {
  const std::string& type = node.op_type();
  if (type == "Identity") return in[0];
  if (type == "SequenceInsert") return inserted(in);
  if (type == "Concat") return inserted(in);
  if (type == "Gather") return gathered(node, in);
  if (type == "Slice") return sliced(in);
  if (type == "Reshape" || type == "Squeeze" || type == "Unsqueeze") return reshaped(type, in);
  if (type == "Size") {
    require_bags(in[0].is(Kind::rows) && graph_.shape(in[0].value).size() == 1);
    return {.kind = Kind::single, .value = nodes_.count(in[0])};
  }
  if (type.rfind("Reduce", 0) == 0) return reduced(node, in);
  if (type != "Cast" && type != "Not" && type != "Neg") require_bags(in.size() == 2);
  if (type == "CastLike") return cast(in[0], graph_.dtype(in[1].value));
  if (type == "Cast") {
    AttributeReader reader = reader_of(FlowImporter::described(node), node);
    return cast(in[0], static_cast<DType>(reader.integer("to", 0)));
  }
  require_bags(kElementwise.count(type) > 0);
  return elementwise(node, in);
}

BagItem BagBody::inserted(const std::vector<BagItem>& in) {
  require_bags(in.size() == 2 && in[0].is(Kind::collected));
  require_bags(in[1].is(Kind::row) || in[1].is(Kind::single));
  BagItem made = in[1];
  made.kind = Kind::appended;
  return made;
}

BagItem BagBody::gathered(const onnx::NodeProto& node, const std::vector<BagItem>& in) {
  AttributeReader attributes = reader_of(FlowImporter::described(node), node);
  require_bags(in.size() == 2 && attributes.integer("axis", 0) == 0 && in[0].is(Kind::same));
  BagItem made = in[1];
  require_bags(made.is(Kind::single) || made.is(Kind::rows));
  if (made.is(Kind::single)) require_bags(graph_.shape(in[0].value).size() == 1);
  if (made.is(Kind::rows)) require_bags(graph_.shape(made.value).size() == 1);
  made.value = nodes_.add("Gather", {in[0].value, made.value});
  made.offset.reset();
  return made;
}

BagItem BagBody::sliced(const std::vector<BagItem>& in) {
  require_bags(in.size() >= 3 && in[0].is(Kind::same) && in[1].is(Kind::single));
  for (std::size_t i = 3; i < in.size(); ++i) {
    if (!in[i].value) continue;
    require_bags(in[i].is(Kind::same));
    const auto known = importer_.conditions().value_of(in[i].value);
    require_bags(known && known->count() == 1 && known->integers()[0] == (i == 3 ? 0 : 1));
  }
  // One element: x[i:i + 1].
  if (in[1].offset && in[2].offset && *in[2].offset == *in[1].offset + 1) {
    require_bags(graph_.shape(in[0].value).size() == 1);
    return {.kind = Kind::single, .value = nodes_.add("Gather", {in[0].value, in[1].value})};
  }
  require_bags(in[2].is(Kind::single) || in[2].is(Kind::same));
  return {
      .kind = Kind::rows,
      .value = in[0].value,
      .starts = in[1].value,
      .ends = in[2].is(Kind::single) ? in[2].value : nodes_.broadcast(in[2].value, in[1].value)};
}

BagItem BagBody::reshaped(const std::string& type, const std::vector<BagItem>& in) {
  if (in[0].is(Kind::single)) return in[0];
  require_bags(type == "Unsqueeze" && in[0].is(Kind::rows) && in.size() == 2 &&
               in[1].is(Kind::same));
  const auto axes = importer_.conditions().value_of(in[1].value);
  require_bags(axes && axes->count() == 1 && axes->integers()[0] != 0);
  BagItem made = in[0];
  made.value = nodes_.add("Unsqueeze", {made.value, in[1].value});
  require_bags(graph_.shape(made.value)[0] == graph_.shape(in[0].value)[0]);
  return made;
}

BagItem BagBody::reduced(const onnx::NodeProto& node, const std::vector<BagItem>& in) {
  AttributeReader attributes = reader_of(FlowImporter::described(node), node);
  std::vector<int64_t> axes = attributes.integers("axes");
  if (in.size() > 1 && in[1].value) {
    require_bags(in[1].is(Kind::same));
    const auto known = importer_.conditions().value_of(in[1].value);
    require_bags(known.has_value());
    axes = known->integers();
  }
  require_bags(in[0].is(Kind::rows) && axes == std::vector<int64_t>{0});
  const bool kept_axis = attributes.integer("keepdims", 1) != 0;
  if (node.op_type() == "ReduceSum") return nodes_.sum(in[0], kept_axis);
  if (node.op_type() == "ReduceMean") return nodes_.mean(in[0], kept_axis);
  require_bags(node.op_type() == "ReduceMax");
  return nodes_.largest(in[0], kept_axis);
}

BagItem BagBody::cast(const BagItem& x, DType type) {
  require_bags(!x.is(Kind::collected) && !x.is(Kind::appended));
  BagItem made = x;
  made.value = nodes_.cast(x.value, type);
  made.below = none;
  if (made.is(Kind::single)) made.starts = made.ends = none;
  return made;
}

BagItem BagBody::elementwise(const onnx::NodeProto& node, const std::vector<BagItem>& in) {
  BagItem made = in[0].is(Kind::same) ? in[1] : in[0];
  for (const BagItem& item : in) {
    if (item.is(Kind::row)) made = item;
    require_bags(!item.is(Kind::collected) && !item.is(Kind::appended));
  }
  const std::string& type = node.op_type();
  std::vector<Value> operands;
  for (const BagItem& item : in) operands.push_back(beside(made, item));
  // A branch that is not taken may divide by zero. The gradient of its result would be no number.
  if (guarded_ && type == "Div" && in[1].is(Kind::single)) {
    const Value zero = nodes_.scalar_like(operands[1], 0), one = nodes_.scalar_like(operands[1], 1);
    operands[1] = nodes_.add("Where", {nodes_.add("Equal", {operands[1], zero}), one, operands[1]});
  }
  made.value = nodes_.add(type.c_str(), operands);
  made.offset = offset_of(type, in);
  made.below = none;
  if (made.is(Kind::single)) made.starts = made.ends = none;
  if (type == "Less" && in[0].offset && in[1].is(Kind::same)) {
    made.offset = in[0].offset;
    made.below = in[1].value;
  }
  if (type == "Less" && in[0].is(Kind::single) && in[1].is(Kind::single)) {
    made.starts = in[0].value;
    made.ends = in[1].value;
  }
  return made;
}

std::optional<int64_t> BagBody::offset_of(const std::string& type, const std::vector<BagItem>& in) {
  if (type != "Add" && type != "Sub") return std::nullopt;
  if (!in[0].offset || !in[1].is(Kind::same)) return std::nullopt;
  const auto known = importer_.conditions().value_of(in[1].value);
  if (!known || known->count() != 1 || is_floating(known->dtype())) return std::nullopt;
  const int64_t by = known->integers()[0];
  if (by < -1000 || by > 1000) return std::nullopt;
  return *in[0].offset + (type == "Add" ? by : -by);
}

Value BagBody::beside(const BagItem& made, const BagItem& item) {
  if (item.is(Kind::same)) {
    require_bags(graph_.type(item.value).ranked && is_static(graph_.shape(item.value)));
    const bool one = element_count(to_dims(graph_.shape(item.value))) == 1;
    if (one) return nodes_.add("Reshape", {item.value, nodes_.vector({})});
    // A row for every iteration, or one that every row of a table shares.
    require_bags(made.is(Kind::row) || made.is(Kind::rows));
    const Shape& shape = graph_.shape(item.value);
    require_bags(shape.size() == 1 || (shape.size() == 2 && shape[0] == Dim(1)));
    return item.value;
  }
  if (item.kind == made.kind) {
    if (made.is(Kind::rows))
      require_bags(item.starts == made.starts && item.ends == made.ends && item.keep == made.keep &&
                   graph_.shape(item.value).size() == graph_.shape(made.value).size());
    if (made.is(Kind::row)) require_bags(item.kept_axis == made.kept_axis);
    return item.value;
  }
  require_bags(made.is(Kind::row) && item.is(Kind::single));
  return nodes_.column(item.value);
}

void BagBody::add_if(const onnx::NodeProto& node, Items& items) {
  require_bags(node.input_size() == 1);
  const BagItem condition = find(node.input(0), items);
  const auto* then = graph_attribute(node, "then_branch");
  const auto* otherwise = graph_attribute(node, "else_branch");
  require_bags(then && otherwise && then->output_size() == node.output_size() &&
               otherwise->output_size() == node.output_size());
  if (condition.is(Kind::same)) {
    const auto known = importer_.conditions().value_of(condition.value);
    require_bags(known && known->dtype() == DType::boolean && known->count() == 1);
    const auto& taken = known->values<bool>()[0] ? *then : *otherwise;
    add(taken, items);
    for (int i = 0; i < node.output_size(); ++i)
      items[node.output(i)] = find(taken.output(i).name(), items);
    return;
  }
  require_bags(condition.is(Kind::single));
  BagBody branch(importer_, nodes_, scope_, true);
  std::vector<BagItem> results[2];
  for (const auto* graph : {then, otherwise}) {
    Items inside = items;
    branch.add(*graph, inside);
    for (const auto& output : graph->output())
      results[graph == otherwise].push_back(branch.find(output.name(), inside));
  }
  for (int i = 0; i < node.output_size(); ++i)
    items[node.output(i)] = chosen(condition.value, results[0][i], results[1][i]);
}

BagItem BagBody::chosen(Value condition, const BagItem& a, const BagItem& b) {
  // Rows that only some iterations append.
  if (a.is(Kind::appended) && b.is(Kind::collected)) {
    require_bags(!a.keep);
    BagItem made = a;
    made.keep = condition;
    return made;
  }
  if (a.is(Kind::collected) && b.is(Kind::appended))
    return chosen(nodes_.add("Not", {condition}), b, a);
  BagItem made = a.is(Kind::same) ? b : a;
  made.offset.reset();
  made.below = none;
  if (a.is(Kind::rows) && b.is(Kind::rows)) {
    require_bags(a.value == b.value && a.keep == b.keep);
    if (a.starts != b.starts) made.starts = nodes_.add("Where", {condition, a.starts, b.starts});
    if (a.ends != b.ends) made.ends = nodes_.add("Where", {condition, a.ends, b.ends});
    return made;
  }
  require_bags(made.is(Kind::row) || made.is(Kind::single));
  const Value by = made.is(Kind::row) ? nodes_.column(condition) : condition;
  made.value = nodes_.add("Where", {by, beside(made, a), beside(made, b)});
  return made;
}

}  // namespace lockstep
