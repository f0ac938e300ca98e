// SPDX-License-Identifier: Apache-2.0
#include "app/inspect/graph_json.h"

#include <map>
#include <set>
#include <utility>

#include "app/inspect/json_lines.h"
#include "graph/scopes.h"

namespace lockstep {
namespace {

class GraphWriter {
 public:
  GraphWriter(std::ostream& out, const SourcedModel& source, const ModelFigures& figures,
              const LookedAt& planned)
      : out_(out),
        model_(source.model),
        figures_(figures),
        planned_(planned),
        graph_(main_graph(source.model)),
        scopes_(scopes_of(graph_)) {}

  void write() {
    out_.field("schema", kGraphSchema);
    out_.field("graph", graph_.name());
    out_.field("replicas", model_.replicas);
    out_.field("bucket_plan", model_.bucket_plan);
    out_.field("metadata", Json(model_.metadata));
    out_.field("memory", planned_.plan ? json_of(planned_.memory) : Json(nullptr));
    out_.list("figures", figures_.replicas.size(), [&](int k) { return replica_json(k); });
    out_.list("operators", figures_.kinds.size(), [&](int i) {
      const KindFigures& kind = figures_.kinds[i];
      return Json{
          {"type", kind.type}, {"nodes", kind.nodes}, {"flops", kind.flops}, {"bytes", kind.bytes}};
    });
    out_.list("scopes", scopes_.all.size(), [&](int i) {
      const Scope& scope = scopes_.all[i];
      return Json{{"path", scope.path}, {"parent", scope.parent}, {"nodes", scope.nodes}};
    });
    write_roles();
    find_kinds_of_values();
    out_.list("values", graph_.value_count(), [&](int id) { return value_json({id}); });
    out_.list("nodes", graph_.node_count(), [&](int i) { return node_json(graph_.node(i)); });
    out_.end();
  }

 private:
  Json replica_json(int k) const {
    const ReplicaFigures& replica = figures_.replicas[k];
    Json json{{"replica", k},
              {"examples", replica.examples},
              {"parameters", replica.parameters},
              {"parameter_bytes", replica.parameter_bytes},
              {"state_bytes", replica.state_bytes},
              {"activation_bytes", replica.activation_bytes},
              {"reduced_bytes", replica.reduced_bytes},
              {"messages", replica.messages}};
    for (const Phase phase : {Phase::forward, Phase::backward, Phase::reduce, Phase::update})
      json["flops"][std::string(name_of(phase))] = {{"products", replica.of(phase).products},
                                                    {"others", replica.of(phase).others}};
    const bool has_memory = planned_.plan && k < static_cast<int>(planned_.plan->workers.size());
    json["memory"] = has_memory ? json_of(planned_memory(*planned_.plan, k)) : Json(nullptr);
    return json;
  }

  // The numbers of the values with these names; -1 for one that this graph lacks.
  Json ids_of(const std::vector<std::string>& names) const {
    Json ids = Json::array();
    for (const std::string& name : names) ids.push_back(graph_.find(name).id);
    return ids;
  }

  template <class Items>
  void write_items(const char* name, const Items& items) {
    out_.list(name, items.size(), [&](int i) {
      return Json{{"name", items[i].name}, {"values", ids_of(items[i].values)}};
    });
  }

  void write_roles() {
    out_.list("states", model_.states.size(), [&](int i) {
      const State& state = model_.states[i];
      return Json{{"name", state.name},
                  {"kind", std::string(name_of(state.kind))},
                  {"values", ids_of(state.values)}};
    });
    out_.list("inputs", model_.inputs.size(), [&](int i) {
      const StepInput& input = model_.inputs[i];
      return Json{{"name", input.name},
                  {"role", std::string(name_of(input.role))},
                  {"values", ids_of(input.values)}};
    });
    write_items("losses", model_.losses);
    write_items("metrics", model_.metrics);
    write_items("gradients", model_.gradients);
    out_.list("updates", model_.updates.size(), [&](int i) {
      const Binding& update = model_.updates[i];
      return Json{{"state", graph_.find(update.state).id}, {"value", graph_.find(update.value).id}};
    });
    Json outputs = Json::array();
    for (const Value output : graph_.outputs()) outputs.push_back(output.id);
    out_.field("outputs", outputs);
  }

  void find_kinds_of_values() {
    for (const Value input : graph_.inputs()) kinds_[input.id] = "input";
    for (const State& state : model_.states)
      for (const std::string& name : state.values)
        if (const Value value = graph_.find(name)) kinds_[value.id] = "state";
  }

  Json value_json(Value value) const {
    const TensorType& type = figures_.types[value.id];
    Json json{{"name", graph_.name(value)},
              {"type", std::string(name_of(type.dtype))},
              {"shape", shape_json(type)},
              {"bytes", bytes_if_known(type)}};
    if (const auto kind = kinds_.find(value.id); kind != kinds_.end())
      json["kind"] = kind->second;
    else
      json["kind"] = graph_.literal(value) ? "constant" : "result";
    return json;
  }

  static Json ids(std::span<const Value> values) {
    Json list = Json::array();
    for (const Value value : values) list.push_back(value.id);
    return list;
  }

  Json node_json(const Node& node) const {
    const Flops& flops = figures_.flops[node.index()];
    Json attributes = Json::array();
    for (const std::string& text : node.attribute_texts())
      if (!text.starts_with("__")) attributes.push_back(text);
    Json json{{"name", node.name()},
              {"type", node.type()},
              {"domain", node.domain()},
              {"replica", node.replica() == kEveryReplica ? Json(nullptr) : Json(node.replica())},
              {"phase", std::string(name_of(figures_.phases[node.index()]))},
              {"scope", scopes_.of_node[node.index()]},
              {"inputs", ids(node.inputs())},
              {"outputs", ids(node.outputs())},
              {"attributes", attributes},
              {"products", flops.products},
              {"others", flops.others}};
    if (!node.where().empty()) json["where"] = node.where();
    return json;
  }

  JsonLines out_;
  const TrainingModel& model_;
  const ModelFigures& figures_;
  const LookedAt& planned_;
  const Graph& graph_;
  Scopes scopes_;
  std::map<int, const char*> kinds_;
};

}  // namespace

void write_json(std::ostream& out, const SourcedModel& source, const ModelFigures& figures,
                const LookedAt& planned) {
  GraphWriter(out, source, figures, planned).write();
}

}  // namespace lockstep
