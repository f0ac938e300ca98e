// SPDX-License-Identifier: Apache-2.0
#include "app/pages/graph_page.h"

#include <map>
#include <set>
#include <unordered_map>

#include "app/pages/buckets_of_nodes.h"
#include "app/pages/gradient_partners.h"
#include "app/pages/graph_facts.h"
#include "app/pages/json_columns.h"
#include "app/pages/page.h"
#include "graph/printable.h"
#include "graph/scopes.h"

namespace lockstep {
namespace {

constexpr std::size_t kLongestPart = 400;         // bytes of a scope's or node's part of a name
constexpr std::size_t kLongestAttributes = 2000;  // bytes of a node's

enum class ValueKind { result, input, state, constant };

class GraphPageData {
 public:
  GraphPageData(const SourcedModel& source, const ModelFigures& figures, const LookedAt& planned,
                const GraphPage& page)
      : model_(source.model),
        figures_(figures),
        planned_(planned),
        page_(page),
        graph_(main_graph(source.model)),
        scopes_(scopes_of(graph_)) {
    for (std::size_t i = 0; i < scopes_.all.size(); ++i)
      scope_named_.emplace(scopes_.all[i].path, static_cast<int>(i));
  }

  std::string json() {
    check(graph_.node_count() <= page_.most_nodes, "the graph has ", graph_.node_count(),
          " nodes; a page shows at most ", page_.most_nodes,
          ": use --format json, or dot with --depth");
    out_.begin();
    out_.field("graph", printable(shortened(graph_.name())));
    out_.field("replicas", std::max(model_.replicas, 1));
    out_.field("devices", Json(page_.devices));
    const GraphFacts facts = graph_facts(model_, figures_, planned_);
    Json rows = Json::array(), notes = Json(facts.notes);
    for (const auto& [name, fact] : facts.rows) rows.push_back({name, fact});
    if (page_.times)
      notes.push_back(join("Times are medians of ", page_.times->steps, " traced steps."));
    out_.field("facts", rows);
    out_.field("notes", notes);
    write_scopes();
    write_nodes();
    write_values();
    write_partners();
    write_times();
    write_states();
    write_tables();
    out_.end();
    return out_.text();
  }

 private:
  // A part of a name, without control characters; the page needs no whole megabytes.
  int text(std::string_view part) {
    return texts_.index_of(printable(shortened(part, kLongestPart)));
  }

  void write_scopes() {
    std::vector<int> texts, parents;
    for (const Scope& scope : scopes_.all) {
      const std::size_t above = scope.parent < 0 ? 0 : scopes_.all[scope.parent].path.size();
      texts.push_back(text(std::string_view(scope.path).substr(above)));
      parents.push_back(scope.parent);
    }
    out_.begin_object("scopes");
    out_.numbers("text", texts);
    out_.numbers("parent", parents);
    out_.end();
  }

  // A list as its length and its items.
  static void add_list(std::vector<int>& flat, std::span<const Value> values) {
    flat.push_back(static_cast<int>(values.size()));
    for (const Value value : values) flat.push_back(value.id);
  }

  std::string attributes_of(const Node& node) const {
    std::string all;
    for (const std::string& attribute : node.attribute_texts()) {
      if (attribute.starts_with("__")) continue;
      all += (all.empty() ? "" : "\n") + printable(shortened(attribute, kLongestPart));
    }
    return shortened(all, kLongestAttributes);
  }

  void write_nodes() {
    const NodeBuckets buckets = buckets_of_nodes(model_, figures_.phases);
    std::vector<int> text_of_node, operators, phases, replicas, work, where, attributes, inputs,
        outputs;
    for (int i = 0; i < graph_.node_count(); ++i) {
      const Node node = graph_.node(i);
      const std::string& path = scopes_.all[scopes_.of_node[i]].path;
      text_of_node.push_back(text(std::string_view(node.name()).substr(path.size())));
      operators.push_back(operators_.index_of(printable(shortened(node.type())) + "\n" +
                                              printable(shortened(node.domain()))));
      phases.push_back(static_cast<int>(figures_.phases[i]));
      replicas.push_back(node.replica());
      work.push_back(work_.index_of(figures_.flops[i].all()));
      where.push_back(text(node.where()));
      attributes.push_back(texts_.index_of(attributes_of(node)));
      add_list(inputs, node.inputs());
      add_list(outputs, node.outputs());
    }
    out_.begin_object("nodes");
    out_.numbers("scope", scopes_.of_node);
    out_.numbers("text", text_of_node);
    out_.numbers("operator", operators);
    out_.numbers("phase", phases);
    out_.numbers("replica", replicas);
    out_.numbers("work", work);
    out_.numbers("where", where);
    out_.numbers("attributes", attributes);
    out_.numbers("bucket", buckets.of_node);
    out_.numbers("inputs", inputs);
    out_.numbers("outputs", outputs);
    out_.end();
    out_.texts("buckets", buckets.names);
  }

  // The scope of a value's name: its node's, or else the outermost scope.
  int scope_of(Value value) const {
    const std::string& name = graph_.name(value);
    if (const auto producer = graph_.producer(value)) {
      const int scope = scopes_.of_node[producer->index()];
      if (name.starts_with(scopes_.all[scope].path)) return scope;
    }
    const auto found = scope_named_.find(name.substr(0, name.find('/')));
    return found == scope_named_.end() ? 0 : found->second;
  }

  std::string type_of(Value value) const {
    const TensorType& type = figures_.types[value.id];
    std::string shape = "?";
    if (type.ranked) {
      shape = "[";
      for (const Dim& dim : type.shape)
        shape += (shape.size() > 1 ? "," : "") +
                 (dim.known() ? std::to_string(dim.size()) : printable(shortened(dim.symbol())));
      shape += "]";
    }
    return std::string(name_of(type.dtype)) + " " + shape;
  }

  void write_values() {
    std::vector<int> kinds(graph_.value_count(), static_cast<int>(ValueKind::result));
    for (int id = 0; id < graph_.value_count(); ++id)
      if (graph_.literal({id})) kinds[id] = static_cast<int>(ValueKind::constant);
    for (const Value input : graph_.inputs()) kinds[input.id] = static_cast<int>(ValueKind::input);
    for (const State& state : model_.states)
      for (const std::string& name : state.values)
        if (const Value value = graph_.find(name))
          kinds[value.id] = static_cast<int>(ValueKind::state);
    std::vector<int> scopes, texts, types;
    for (int id = 0; id < graph_.value_count(); ++id) {
      const int scope = scope_of({id});
      scopes.push_back(scope);
      texts.push_back(
          text(std::string_view(graph_.name({id})).substr(scopes_.all[scope].path.size())));
      const int type = types_.index_of(type_of({id}));
      types.push_back(type);
      type_bytes_.resize(types_.entries().size());
      type_bytes_[type] = bytes_if_known(figures_.types[id]);
    }
    out_.begin_object("values");
    out_.numbers("scope", scopes);
    out_.numbers("text", texts);
    out_.numbers("type", types);
    out_.numbers("kind", kinds);
    out_.end();
  }

  void write_partners() {
    std::vector<int> pairs;
    for (const auto& [forward, backward] : gradient_partners(graph_, figures_.phases)) {
      pairs.push_back(forward);
      pairs.push_back(backward);
    }
    out_.numbers("partners", pairs);
  }

  void write_times() {
    std::vector<double> pairs;
    std::set<std::string> known;
    if (page_.times)
      for (int i = 0; i < graph_.node_count(); ++i)
        if (const auto found = page_.times->micros.find(graph_.node(i).name());
            found != page_.times->micros.end()) {
          pairs.push_back(i);
          pairs.push_back(found->second);
          known.insert(found->first);
        }
    // Small networks share a few names; a plan adds a few nodes to its graph's.
    const std::size_t traced = page_.times ? page_.times->micros.size() : 0;
    check(!page_.times || (!known.empty() && 2 * known.size() >= traced),
          "the trace is of another step: ", known.size(), " of the ", traced,
          " nodes in it are in this graph; give the model, devices and keys of the traced run");
    out_.numbers("times", pairs);
  }

  Json state_json(const std::string& name, std::string_view kind, Value value) const {
    double elements = 0;
    if (value) {
      const TensorType& type = figures_.types[value.id];
      elements = type.ranked ? 1 : 0;
      for (const Dim& dim : type.shape)
        elements *= dim.known() ? static_cast<double>(dim.size()) : 0;
    }
    return {printable(shortened(name)), std::string(kind), value ? value.id : -1, elements,
            value ? bytes_if_known(figures_.types[value.id]) : 0};
  }

  // Parameters of replica 0. A network from another tool has them as constants.
  void write_states() {
    Json states = Json::array();
    for (const State& state : model_.states)
      if (is_parameter(state.kind) && !state.values.empty())
        states.push_back(state_json(state.name, name_of(state.kind), graph_.find(state.values[0])));
    if (model_.states.empty())
      for (int id = 0; id < graph_.value_count(); ++id)
        if (const Literal* literal = graph_.literal({id});
            literal && is_floating(literal->dtype()) && !literal->dims().empty())
          states.push_back(state_json(graph_.name({id}), "constant", {id}));
    out_.field("states", states);
  }

  void write_tables() {
    Json operators = Json::array(), types = Json::array();
    for (const std::string& entry : operators_.entries()) {
      const std::size_t end = entry.find('\n');
      operators.push_back({entry.substr(0, end), entry.substr(end + 1)});
    }
    for (std::size_t i = 0; i < types_.entries().size(); ++i)
      types.push_back({types_.entries()[i], type_bytes_[i]});
    out_.field("operators", operators);
    out_.field("valueTypes", types);
    out_.numbers("works", work_.entries());
    out_.texts("texts", texts_.entries());
  }

  const TrainingModel& model_;
  const ModelFigures& figures_;
  const LookedAt& planned_;
  const GraphPage& page_;
  const Graph& graph_;
  const Scopes scopes_;
  std::unordered_map<std::string, int> scope_named_;
  JsonTable<std::string> texts_, operators_, types_;
  JsonTable<double> work_;
  std::vector<double> type_bytes_;
  JsonColumns out_;
};

}  // namespace

std::string graph_page_data(const SourcedModel& source, const ModelFigures& figures,
                            const LookedAt& planned, const GraphPage& page) {
  return GraphPageData(source, figures, planned, page).json();
}

void write_graph_page(std::ostream& out, const SourcedModel& source, const ModelFigures& figures,
                      const LookedAt& planned, const GraphPage& page) {
  Page document{
      .title = page.title,
      .styles = {"theme.css", "graph.css"},
      .scripts = {"viewport.js", "numbers.js", "graph_data.js", "fold.js", "layers.js", "layout.js",
                  "cells.js", "draw.js", "search.js", "panel.js", "keys.js", "graph_page.js"},
      .body = std::string(resource("graph.html")),
      .command = page.command};
  document.data.push_back({"data", graph_page_data(source, figures, planned, page)});
  write_page(out, document);
}

}  // namespace lockstep
