// SPDX-License-Identifier: Apache-2.0
#include "graph/passes/copy.h"

#include "graph/fresh_name.h"

namespace lockstep {

GraphCopy::GraphCopy(const Graph& from, const std::function<bool(Value input)>& takes)
    : from_(from), to_(from.ops(), from.name()), here_(from.value_count()) {
  to_.inherit_origins();
  for (Value input : from.inputs())
    if (!from.literal(input) && (!takes || takes(input)))
      set(input, to_.input(from.name(input), from.type(input), from.origin(input)));
  for (int id = 0; id < from.value_count(); ++id)
    if (from.literal({id}) && !from.producer({id}))
      set({id}, to_.take_constant(from, {id}, from.name({id})));
}

std::vector<Value> GraphCopy::of(std::span<const Value> old) const {
  std::vector<Value> values;
  for (Value value : old) values.push_back(of(value));
  return values;
}

Node GraphCopy::copy(const Node& node, const std::vector<Value>& operands) {
  ReplicaScope replica(to_, node.replica());
  const Node copied = to_.copy(node, operands);
  for (std::size_t i = 0; i < copied.outputs().size(); ++i)
    if (copied.outputs()[i]) set(node.outputs()[i], copied.outputs()[i]);
  return copied;
}

void GraphCopy::take(const Node& node) {
  ReplicaScope replica(to_, node.replica());
  Graph::Names names{node.name(), {}};
  for (Value output : node.outputs()) names.outputs.push_back(output ? from_.name(output) : "");
  const Node made = to_.take(node, of(node.inputs()), names);
  for (std::size_t i = 0; i < node.outputs().size(); ++i)
    if (node.outputs()[i]) set(node.outputs()[i], made.outputs()[i]);
}

Node GraphCopy::add(NodeSpec spec, const Node& like) {
  ReplicaScope replica(to_, like.replica());
  const OriginScope origin(to_, like.where());
  spec.outputs = static_cast<int>(spec.output_names.size());
  return to_.add(spec, like.name());
}

Node GraphCopy::replace(const Node& old, NodeSpec spec) {
  for (Value output : old.outputs()) spec.output_names.push_back(output ? from_.name(output) : "");
  const Node made = add(std::move(spec), old);
  for (std::size_t i = 0; i < old.outputs().size(); ++i)
    if (old.outputs()[i]) set(old.outputs()[i], made.outputs()[i]);
  return made;
}

std::string GraphCopy::fresh_name(const std::string& base) const {
  return lockstep::fresh_name(
      base, [&](const std::string& name) { return from_.find(name) || to_.find(name); });
}

Graph GraphCopy::finish() {
  for (Value output : from_.outputs())
    if (of(output)) to_.output(of(output));
  return std::move(to_);
}

}  // namespace lockstep
