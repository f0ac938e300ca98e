// SPDX-License-Identifier: Apache-2.0
#include "graph/graph_members.h"

#include "graph/infer.h"
#include "graph/known.h"
#include "graph/nearest.h"
#include "graph/onnx.h"
#include "graph/placement.h"
#include "graph/random_stream.h"

namespace lockstep {

Graph::Members::Members(const OpSet& ops, std::string name)
    : ops(&ops), name(std::move(name)), proto(std::make_unique<onnx::GraphProto>()) {}
Graph::Members::~Members() = default;

const Graph::Members::ValueInfo& Graph::Members::info(Value value) const {
  check(value.id >= 0 && value.id < static_cast<int>(values.size()), "graph '", name,
        "' has no value number ", value.id, "; does the value belong to another graph?");
  return values[value.id];
}

Value Graph::Members::find(std::string_view value_name) const {
  return {by_name.find(value_name, names())};
}

Value Graph::Members::at(std::string_view value_name) const {
  if (Value value = find(value_name)) return value;
  std::vector<std::string> known;
  for (const ValueInfo& value : values) known.push_back(value.name);
  const std::string near = nearest(value_name, known);
  fail("graph '", name, "' has no value '", value_name, "'",
       near.empty() ? "" : join("; the nearest is '", near, "'"));
}

std::string Graph::Members::scoped(std::string_view short_name) const {
  return scope.empty() ? std::string(short_name) : scope + "/" + std::string(short_name);
}

std::string Graph::Members::fresh_name(const std::string& base) {
  if (!find(base)) return base;
  int& suffix = next_suffix[base];
  std::string fresh;
  do fresh = base + "_" + std::to_string(++suffix);
  while (find(fresh));
  return fresh;
}

const std::string& Graph::Members::origin(Value value) const {
  const ValueInfo& known = info(value);
  return known.producer < 0 ? known.declared_at : proto->node(known.producer).doc_string();
}

std::string Graph::Members::origin_of(const NodeSpec& spec, const Site& site) const {
  if (origin_set) return *origin_set;
  if (!inherited_otherwise) return site.where.text();
  for (Value operand : spec.inputs)
    if (operand && !origin(operand).empty()) return origin(operand);
  return *inherited_otherwise;
}

Value Graph::Members::new_value(std::string value_name, TensorType type) {
  check(!value_name.empty(), "a value needs a name");
  const Value value{static_cast<int>(values.size())};
  check(by_name.insert(value_name, value.id, names()), "graph '", name,
        "' already has a value named '", value_name, "'");
  ValueInfo added;
  added.name = std::move(value_name);
  added.type = std::move(type);
  values.push_back(std::move(added));
  return value;
}

int Graph::Members::append(onnx::NodeProto node, NodeInfo added, const std::string& where) {
  if (added.op->draws) write_random_stream(node);
  Inferred inferred;
  try {
    inferred = infer(node, added);
  } catch (const Error& error) {
    std::string operands;
    for (Value value : added.inputs)
      operands += value ? join("\n  ", info(value).name, " ", info(value).type) : "\n  (left out)";
    rethrow_as(error, NodeName{node.name()}, " (", node.op_type(),
               added.replica >= 0 ? join(", replica ", added.replica) : "",
               where.empty() ? "" : ", ", where, "): ", error.what(),
               operands.empty() ? "" : "; inputs:", operands);
  }
  const int index = static_cast<int>(nodes.size());
  // An omitted trailing output has an empty name and is not a value.
  for (int i = 0; i < node.output_size(); ++i) {
    const bool omitted = node.output(i).empty();
    added.outputs.push_back(omitted ? none : new_value(node.output(i), inferred.types[i]));
    if (!omitted) values[added.outputs.back().id].producer = index;
  }
  for (Value value : added.inputs)
    if (value) values[value.id].consumers.push_back(index);
  if (inferred.content && added.outputs[0]) learn_content(added.outputs[0], *inferred.content);
  *proto->add_node() = std::move(node);
  nodes.push_back(std::move(added));
  return index;
}

Inferred Graph::Members::infer(onnx::NodeProto& node, const NodeInfo& added) const {
  InferenceInputs operands;
  for (Value value : added.inputs) {
    operands.types.push_back(value ? &info(value).type : nullptr);
    const Literal* constant = value ? info(value).literal.get() : nullptr;
    operands.constants.push_back(value && !constant ? info(value).known.get() : constant);
    operands.contents.push_back(value ? info(value).content.get() : nullptr);
  }
  return infer_node(*added.op, node, operands);
}

void Graph::Members::learn_content(Value value, const Shape& content) {
  ValueInfo& learned = values[value.id];
  learned.content = std::make_unique<Shape>(content);
  if (auto literal = literal_of(content, learned.type))
    learned.known = std::make_unique<Literal>(std::move(*literal));
}

}  // namespace lockstep
