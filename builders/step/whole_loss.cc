// SPDX-License-Identifier: Apache-2.0
#include "builders/step/whole_loss.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "builders/step/partition_graph.h"
#include "graph/passes/copy.h"
#include "graph/random_stream.h"
#include "lockstep/operators.h"
#include "operators/collective/collective.h"

namespace lockstep {
namespace {

constexpr const char* kScope = "whole";
// Marks a collective that joins rows on replica 0 alone.
constexpr const char* kOnFirst = "__on_first";

bool joins_on_first(const Node& node) {
  return node.type() == "AllGather" && node.attributes().has(kOnFirst);
}

bool has_joins(const Graph& graph) {
  for (int index = 0; index < graph.node_count(); ++index)
    if (joins_on_first(graph.node(index))) return true;
  return false;
}

bool is_slice_of_batch(const Node& node) { return node.type() == "ResidentSlice"; }

Value concat_rows(Graph& graph, const std::vector<Value>& parts, const std::string& name) {
  return parts.size() == 1 ? parts[0] : concat(graph, parts, 0, name);
}

void expand_join(GraphCopy& copied, const Node& node) {
  Graph& graph = copied.to();
  const OriginScope origin(graph, node.where());
  const ReplicaScope first(graph, 0);
  std::vector<Value> rows = copied.of(node.inputs());
  for (std::size_t k = 1; k < rows.size(); ++k) {
    rows[k] = copy(graph, rows[k], join(node.name(), "/", k, "/rows"));
    graph.set_attribute(graph.producer(rows[k])->index(), kShapedLike, graph.name(rows[0]));
  }
  copied.set(node.outputs()[0], concat(graph, rows, 0, node.graph().name(node.outputs()[0])));
}

}  // namespace

WholeLoss::WholeLoss(const OneReplica& one)
    : forward_(one.graph.clone()), losses_(one.parts[0].losses) {
  check(!losses_.empty(),
        "whole_loss (TRAIN.WHOLE_LOSS): the model declares no loss; declare one by Net::loss(), or "
        "leave whole_loss out");
  for (const auto* names : {&one.loss_names, &one.metric_names})
    check(std::find(names->begin(), names->end(), kWholeLoss) == names->end(),
          "whole_loss (TRAIN.WHOLE_LOSS): the network has a loss or a metric of that name; rename "
          "it in the network");
  check_free(forward_, kWholeLoss, "the loss of the whole batch");
  for (const Net::Param& param : one.params) states_.push_back(param.value);
  for (const int index : needed_nodes())
    for (const Value input : forward_.node(index).inputs()) {
      if (!input || !is_fed(input)) continue;
      const TensorType& type = forward_.type(input);
      check(type.shape.empty() || !type.shape[0].known(),
            "whole_loss (TRAIN.WHOLE_LOSS): the input '", forward_.name(input), "' is ", type,
            ", so the network accepts only the rows of one share, not all rows of the batch; "
            "declare its first dimension by a name, such as N, or leave whole_loss "
            "out");
    }
}

// True for values that change with each batch: inputs, and slices of a resident batch.
bool WholeLoss::is_fed(Value value) const {
  if (const auto maker = forward_.producer(value)) return is_slice_of_batch(*maker);
  return !forward_.literal(value) &&
         std::find(states_.begin(), states_.end(), value) == states_.end();
}

std::vector<int> WholeLoss::needed_nodes() const {
  std::set<int> needed;
  std::vector<Value> open = losses_;
  while (!open.empty()) {
    const Value value = open.back();
    open.pop_back();
    if (!value || is_fed(value)) continue;
    const auto maker = forward_.producer(value);
    if (maker && needed.insert(maker->index()).second)
      open.insert(open.end(), maker->inputs().begin(), maker->inputs().end());
  }
  return {needed.begin(), needed.end()};
}

// Joins the rows of `fed` in the order of the batch: replica by replica, part by part.
Value WholeLoss::joined(OneReplica& one, Value fed, int replicas) const {
  Graph& graph = one.graph;
  const std::string& name = forward_.name(fed);
  if (forward_.type(fed).shape.empty()) return graph.at(name);  // the same for all rows
  std::vector<Value> parts;
  for (std::size_t part = 0; part < one.parts.size(); ++part)
    parts.push_back(graph.at(name_in_part(static_cast<int>(part), name)));
  const std::string whole = join(kScope, "/", name);
  const Value rows = concat_rows(graph, parts, whole + "_of_replica");
  if (replicas == 1) return rows;
  const Value all =
      all_gather(graph, {rows}, {replicas, "the whole batch"}, {whole}, whole + "_of_all")[0];
  graph.set_attribute(graph.producer(all)->index(), kOnFirst, int64_t{1});
  return all;
}

Value WholeLoss::add_to(OneReplica& one, int replicas) const {
  Graph& graph = one.graph;
  std::unordered_map<int, Value> made;
  const auto here = [&](Value value) -> Value {
    if (!value) return none;
    if (const auto found = made.find(value.id); found != made.end()) return found->second;
    const std::string& name = forward_.name(value);
    if (is_fed(value)) return made[value.id] = joined(one, value, replicas);
    const Value same = graph.find(name);  // a state or a constant
    check(same || forward_.literal(value), "internal: whole_loss needs '", name, "'");
    return made[value.id] =
               same ? same : graph.take_constant(forward_, value, join(kScope, "/", name));
  };
  const int own_part = static_cast<int>(one.parts.size());  // a random stream that no part uses
  for (const int index : needed_nodes()) {
    const Node node = forward_.node(index);
    std::vector<Value> inputs;
    for (const Value input : node.inputs()) inputs.push_back(here(input));
    const NameScope scope(graph, kScope);
    const Node copied = graph.copy(node, inputs);
    for (std::size_t i = 0; i < node.outputs().size(); ++i)
      if (node.outputs()[i]) made[node.outputs()[i].id] = copied.outputs()[i];
    if (has_random_stream(node)) set_random_part(graph, copied.index(), own_part);
  }
  std::vector<Value> losses;
  for (const Value loss : losses_) losses.push_back(here(loss));
  const Value total = losses.size() == 1 ? losses[0]
                                         : graph.add_value({.type = "Sum", .inputs = losses},
                                                           join(kScope, "/losses"));
  if (replicas == 1) return identity(graph, total, kWholeLoss);
  return broadcast(graph, total, {kWholeLoss}, join(kWholeLoss, "_broadcast"))[0];
}

Graph expand_joined_rows(Graph all) {
  if (!has_joins(all)) return all;
  GraphCopy copied(all);
  for (int index = 0; index < all.node_count(); ++index) {
    const Node node = all.node(index);
    if (joins_on_first(node))
      expand_join(copied, node);
    else
      copied.take(node);
  }
  return copied.finish();
}

}  // namespace lockstep
