// SPDX-License-Identifier: Apache-2.0
// Micro-batches (declared in one_replica.h): repeats forward and backward pass for each later part.
#include <set>
#include <unordered_map>

#include "builders/step/one_replica.h"
#include "graph/random_stream.h"
#include "lockstep/operators.h"

namespace lockstep {
namespace {

// Adds an input of a later part. Parts may differ in size, so unknown dimensions get new names.
Value input_of_part(Graph& graph, Value first, const std::string& name, int part) {
  TensorType type = graph.type(first);
  for (Dim& dim : type.shape)
    if (!dim.known()) dim = Dim(dim.symbol() + "_" + scope_of_part(part));
  return graph.input(name, type);
}

using ValuesOfPart = std::unordered_map<int, Value>;  // by the first part's value

Value of_part(const ValuesOfPart& here, Value value) {
  const auto found = here.find(value.id);
  return found == here.end() ? value : found->second;
}

// Copies a node for a later part, unless a copy exists or the operands are the same in all parts.
// Random nodes are always copied.
void copy_for_part(Graph& graph, int index, int part, ValuesOfPart& here) {
  const Node node = graph.node(index);
  const std::vector<Value> outputs(node.outputs().begin(), node.outputs().end());
  for (Value output : outputs)
    if (output && here.contains(output.id)) return;
  bool differs = node.op()->draws || node.op()->random;
  std::vector<Value> inputs;
  for (Value input : node.inputs()) {
    differs = differs || (input && here.contains(input.id));
    inputs.push_back(input ? of_part(here, input) : none);
  }
  if (!differs) return;
  const bool draws = has_random_stream(node);
  const Node made = graph.copy(node, inputs);
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i]) here[outputs[i].id] = made.outputs()[i];
  if (draws) set_random_part(graph, made.index(), part);
}

// Copies the first part for each later part. Nodes with the same operands in all parts are not
// repeated, except random nodes.
class Repetition {
 public:
  explicit Repetition(OneReplica& one)
      : one_(one), graph_(one.graph), nodes_(one.graph.node_count()) {
    for (const Net::Param& param : one.params) next_.push_back(param.next);
  }

  void add(int part) {
    here_.clear();
    if (!one_.early.empty()) here_ = one_.early.at(part);
    NameScope scope(graph_, scope_of_part(part));
    OneReplica::Part made;
    const OneReplica::Part& first = one_.parts[0];
    for (const Net::Named& input : first.inputs) {
      made.inputs.push_back({input.name, fed(input.value, input.name, part)});
      here_[input.value.id] = made.inputs.back().value;
    }
    if (first.weight)
      here_[first.weight.id] = made.weight = fed(first.weight, graph_.name(first.weight), part);
    for (std::size_t p = 0; p < one_.params.size(); ++p)  // continues from the last part's values
      if (next_[p]) here_[one_.params[p].value.id] = one_.params[p].next;
    for (int index = 0; index < nodes_; ++index)
      if (!one_.early_nodes.contains(index)) copy_for_part(graph_, index, part, here_);
    for (Value loss : first.losses) made.losses.push_back(here(loss));
    for (Value metric : first.metrics) made.metrics.push_back(here(metric));
    for (Value output : first.outputs) made.outputs.push_back(here(output));
    for (std::size_t p = 0; p < one_.params.size(); ++p)
      if (next_[p]) one_.params[p].next = here(next_[p]);
    one_.parts.push_back(std::move(made));
  }

  Value here(Value value) const { return of_part(here_, value); }

 private:
  Value fed(Value first, const std::string& name, int part) {
    const auto found = here_.find(first.id);
    return found == here_.end() ? input_of_part(graph_, first, name, part) : found->second;
  }

  OneReplica& one_;
  Graph& graph_;
  const int nodes_;          // the first part's nodes and early nodes
  std::vector<Value> next_;  // the first part's new states, by parameter
  ValuesOfPart here_;        // values of the current part
};

}  // namespace

Value value_in_part(OneReplica& one, Value first, int part) {
  Graph& graph = one.graph;
  one.early.resize(std::max(one.early.size(), static_cast<std::size_t>(part) + 1));
  ValuesOfPart& here = one.early[part];
  NameScope scope(graph, scope_of_part(part));
  for (const Net::Named& input : one.parts[0].inputs)
    if (!here.contains(input.value.id))
      here[input.value.id] = input_of_part(graph, input.value, input.name, part);
  std::set<int> needed;
  std::vector<Value> open{first};
  while (!open.empty()) {
    const Value value = open.back();
    open.pop_back();
    const auto maker = value ? graph.producer(value) : std::nullopt;
    if (!maker || here.contains(value.id) || !needed.insert(maker->index()).second) continue;
    open.insert(open.end(), maker->inputs().begin(), maker->inputs().end());
  }
  const int before = graph.node_count();
  for (const int index : needed) copy_for_part(graph, index, part, here);  // in the graph's order
  for (int index = before; index < graph.node_count(); ++index) one.early_nodes.insert(index);
  return of_part(here, first);
}

void repeat(OneReplica& one, int parts) {
  const std::vector<Value> first = one.gradients;
  Repetition repetition(one);
  for (int part = 1; part < parts; ++part) {
    repetition.add(part);
    const bool last = part == parts - 1;
    // Sums part by part, so that only the sum outlives a part.
    for (std::size_t p = 0; p < one.params.size(); ++p) {
      if (!first[p]) continue;
      const std::string name = one.params[p].name + "_grad";
      if (last && one.graph.name(first[p]) == name)
        one.graph.rename(first[p], scope_of_part(0) + "/" + name);
      one.gradients[p] = lockstep::add(one.graph, one.gradients[p], repetition.here(first[p]),
                                       last ? name : join(name, "_up_to_", scope_of_part(part)));
    }
  }
}

}  // namespace lockstep
