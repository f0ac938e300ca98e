// SPDX-License-Identifier: Apache-2.0
#include "app/inspect/figures.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "app/inspect/requests.h"
#include "graph/flops.h"
#include "graph/passes/bind.h"
#include "graph/placement.h"
#include "lockstep/operators.h"
#include "runtime/plan/fold.h"

namespace lockstep {
namespace {

// The main graph with the shapes of this batch, without nodes that no result needs.
Graph with_shapes(const SourcedModel& source, const std::vector<KernelTable>& kernels) {
  const bool inference = source.model.step.node_count() == 0;
  const CompileRequest request =
      plan_request(source, inference, devices_of(source, inference), kernels);
  std::map<std::string, Dims> feeds;
  for (std::size_t i = 0; i < request.feeds.size(); ++i)
    feeds[request.feeds[i]] = request.feed_dims[i];
  std::vector<std::string> wanted = request.fetches;
  for (const Binding& update : request.updates) wanted.push_back(update.value);
  return bind_shapes(request.graph, feeds, wanted, folder_for(kernels), request.owners);
}

class FigureFinder {
 public:
  explicit FigureFinder(const SourcedModel& source)
      : source_(source), model_(source.model), graph_(main_graph(model_)) {}

  ModelFigures find() {
    found_.phases = phases_of(model_);
    for (int id = 0; id < graph_.value_count(); ++id) found_.types.push_back(graph_.type({id}));
    found_.flops.resize(graph_.node_count());
    found_.replicas.resize(std::max(model_.replicas, 1));
    for (std::size_t k = 0; k < found_.replicas.size(); ++k)
      found_.replicas[k].examples = rows_of_replica(source_, static_cast<int>(k));
    bind();
    count_states();
    for (int i = 0; i < graph_.node_count(); ++i) count(graph_.node(i));
    count_activations();
    count_kinds();
    return std::move(found_);
  }

 private:
  // A forged or unusual network may have no shapes for this batch; everything else is shown.
  void bind() {
    try {
      const Graph bound = with_shapes(source_, all_kernels());
      for (int id = 0; id < bound.value_count(); ++id)
        if (const Value value = graph_.find(bound.name({id})))
          found_.types[value.id] = bound.type({id});
      for (int i = 0; i < bound.node_count(); ++i) take_flops(bound.node(i));
    } catch (const Error& error) {
      found_.why_open = error.what();
      for (int i = 0; i < graph_.node_count(); ++i) take_flops(graph_.node(i));
    }
  }

  // `bound`: a node of the graph or of its bound copy, found again by its first result.
  void take_flops(const Node& bound) {
    const auto first =
        std::ranges::find_if(bound.outputs(), [](Value value) { return bool(value); });
    if (first == bound.outputs().end()) return;
    const Value value = graph_.find(bound.graph().name(*first));
    const auto node = value ? graph_.producer(value) : std::nullopt;
    if (!node) return;
    if (const auto flops = flops_of(bound))
      found_.flops[node->index()] = *flops;
    else
      ++found_.open_nodes;
  }

  ReplicaFigures* replica(int number) {
    return number >= 0 && number < static_cast<int>(found_.replicas.size())
               ? &found_.replicas[number]
               : nullptr;
  }

  void add_state(std::size_t k, Value value, bool trained) {
    const TensorType& type = found_.types[value.id];
    found_.replicas[k].state_bytes += bytes_if_known(type);
    if (!trained) return;
    found_.replicas[k].parameters += elements_of(graph_, value);
    found_.replicas[k].parameter_bytes += bytes_if_known(type);
  }

  // A network from another tool has no states: its parameters are constants of floats.
  void count_states() {
    for (const State& state : model_.states)
      for (std::size_t k = 0; k < state.values.size() && k < found_.replicas.size(); ++k)
        if (const Value value = graph_.find(state.values[k]))
          add_state(k, value, is_parameter(state.kind));
    if (!model_.states.empty()) return;
    for (int id = 0; id < graph_.value_count(); ++id)
      if (const Literal* literal = graph_.literal({id});
          literal && is_floating(literal->dtype()) && !literal->dims().empty())
        add_state(0, {id}, true);
  }

  void count(const Node& node) {
    const auto phase = static_cast<std::size_t>(found_.phases[node.index()]);
    const Flops& flops = found_.flops[node.index()];
    const Op* op = node.op();
    if (op && op->collective) {
      count_collective(node, phase);
      return;
    }
    ReplicaFigures* own = replica(std::max(node.replica(), 0));
    if (!own) return;  // an auxiliary device
    own->flops[phase].products += flops.products;
    own->flops[phase].others += flops.others;
    if (!op || !op->copies || node.inputs().empty()) return;
    const int from = home_of(graph_, node.inputs()[0], owners());
    if (from == node.replica()) return;
    if (ReplicaFigures* sender = replica(std::max(from, 0))) send(*sender, node.inputs()[0]);
  }

  void count_collective(const Node& node, std::size_t phase) {
    const auto share = static_cast<double>(std::max<std::size_t>(node.outputs().size(), 1));
    for (std::size_t i = 0; i < node.outputs().size(); ++i) {
      const Value output = node.outputs()[i];
      ReplicaFigures* own = output ? replica(replica_of(graph_, output)) : nullptr;
      if (!own) continue;
      own->flops[phase].others += found_.flops[node.index()].others / share;
      if (i < node.inputs().size() && node.inputs()[i]) send(*own, node.inputs()[i]);
    }
  }

  void send(ReplicaFigures& sender, Value value) {
    sender.reduced_bytes += bytes_if_known(found_.types[value.id]);
    ++sender.messages;
  }

  const Owners& owners() {
    if (owners_.empty()) owners_ = model_.owners();
    return owners_;
  }

  // The value that a chain of views shows.
  Value shown_by(Value value) const {
    while (true) {
      const auto producer = graph_.producer(value);
      if (!producer || !producer->op() || !producer->op()->view || !producer->inputs()[0])
        return value;
      value = producer->inputs()[0];
    }
  }

  void count_activations() {
    std::set<int> seen, read;  // of a long chain of views, each reader would walk the whole chain
    for (int i = 0; i < graph_.node_count(); ++i) {
      if (found_.phases[i] != Phase::backward) continue;
      for (const Value input : graph_.node(i).inputs()) {
        if (!input || !read.insert(input.id).second) continue;
        const Value value = shown_by(input);
        const auto producer = graph_.producer(value);
        if (!producer || found_.phases[producer->index()] != Phase::forward) continue;
        if (!seen.insert(value.id).second) continue;
        if (ReplicaFigures* own = replica(replica_of(graph_, value)))
          own->activation_bytes += bytes_if_known(found_.types[value.id]);
      }
    }
  }

  void count_kinds() {
    std::map<std::string, KindFigures> by_type;
    for (int i = 0; i < graph_.node_count(); ++i) {
      const Node node = graph_.node(i);
      KindFigures& kind = by_type[node.type()];
      kind.type = node.type();
      ++kind.nodes;
      kind.flops += found_.flops[i].all();
      kind.bytes += found_.result_bytes(node);
    }
    for (auto& [type, kind] : by_type) found_.kinds.push_back(std::move(kind));
    std::ranges::stable_sort(found_.kinds, [](const KindFigures& a, const KindFigures& b) {
      return std::tuple(a.flops, a.bytes, a.nodes) > std::tuple(b.flops, b.bytes, b.nodes);
    });
  }

  const SourcedModel& source_;
  const TrainingModel& model_;
  const Graph& graph_;
  Owners owners_;
  ModelFigures found_;
};

}  // namespace

bool operator==(const ReplicaFigures& a, const ReplicaFigures& b) {
  const auto all = [](const ReplicaFigures& of) {
    return std::tuple(of.examples, of.parameters, of.parameter_bytes, of.state_bytes,
                      of.activation_bytes, of.reduced_bytes, of.messages);
  };
  return all(a) == all(b) &&
         std::ranges::equal(a.flops, b.flops, [](const Flops& x, const Flops& y) {
           return x.products == y.products && x.others == y.others;
         });
}

double bytes_if_known(const TensorType& type) {
  if (!type.ranked) return 0;
  auto bytes = static_cast<double>(info_of(type.dtype).size);
  for (const Dim& dim : type.shape) bytes *= dim.known() ? static_cast<double>(dim.size()) : 0;
  return bytes;
}

double ModelFigures::result_bytes(const Node& node) const {
  if (node.op() && node.op()->view) return 0;
  double bytes = 0;
  for (const Value output : node.outputs())
    if (output) bytes += bytes_if_known(types[output.id]);
  return bytes;
}

ModelFigures figures_of(const SourcedModel& source) { return FigureFinder(source).find(); }

}  // namespace lockstep
