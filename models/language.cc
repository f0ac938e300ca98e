// SPDX-License-Identifier: Apache-2.0
#include "graph/nearest.h"
#include "lockstep/layers.h"
#include "lockstep/losses.h"
#include "lockstep/models.h"
#include "lockstep/operators.h"

namespace lockstep {
namespace {

using LayerFn = RecurrentOutputs (*)(Net&, Value, int64_t, const RecurrentLayer&, const Site&);

struct LanguageEntry {
  const char* name;
  const char* layer;  // prefix of parameter names
  LayerFn make;
  bool has_cells;  // LSTM cells: a second state
};

constexpr LanguageEntry kLanguageModels[] = {
    {"char_lstm", "lstm", lstm_layer, true},
    {"char_gru", "gru", gru_layer, false},
    {"char_rnn", "rnn", rnn_layer, false},
};

const LanguageEntry& language_entry(const std::string& name) {
  for (const LanguageEntry& entry : kLanguageModels)
    if (name == entry.name) return entry;
  const std::string near = nearest(name, language_model_names());
  fail("there is no language model '", name, "'",
       near.empty() ? "" : "; did you mean '" + near + "'?");
}

struct ReadText {
  Value x;                       // [steps, rows, hidden]
  std::vector<Net::Named> last;  // states
};
// Runs the recurrent layers over character numbers [rows, steps]. In prediction the layers continue
// from fed states, so that a text can be read piece by piece.
ReadText read_text(Net& net, Value data, const LanguageEntry& entry,
                   const LanguageOptions& options) {
  Graph& graph = net.graph;
  const Dim rows = graph.shape(data)[0];
  Value x = transpose(graph, data, {1, 0}, "characters");
  x = embedding_layer(net, x, options.characters, options.embedding, {}, "embedding");
  std::vector<Net::Named> last;
  for (int64_t layer = 1; layer <= options.layers; ++layer) {
    const std::string name = join(entry.layer, layer);
    RecurrentLayer recurrent;
    const auto state = [&](const char* what) {
      const std::string of_layer = join(what, layer);
      return net.input(of_layer, {DType::float32, {1, rows, options.hidden}});
    };
    if (!net.training()) {
      recurrent.first_h = {state("h")};
      if (entry.has_cells) recurrent.first_c = {state("c")};
    }
    const RecurrentOutputs made = entry.make(net, x, options.hidden, recurrent, name);
    last.push_back({join("h", layer, "_last"), made.last_h[0]});
    if (entry.has_cells) last.push_back({join("c", layer, "_last"), made.last_c[0]});
    x = options.dropout > 0 ? dropout_layer(net, made.y, options.dropout, join("dropout", layer))
                            : made.y;
  }
  return {x, std::move(last)};
}

// Reshapes the probabilities of consecutive rows to [rows, steps, characters].
Value by_row(Graph& graph, Value prob, Value data, int64_t characters) {
  const Value last = graph.constant("count_of_characters", Literal::vector({characters}));
  const Value shape = concat(graph, {shape_of(graph, data, "rows_and_steps"), last}, 0, "places");
  return graph.add_value({.type = "Reshape", .inputs = {prob, shape}}, "prob");
}

}  // namespace

std::vector<std::string> language_model_names() {
  std::vector<std::string> names;
  for (const LanguageEntry& entry : kLanguageModels) names.emplace_back(entry.name);
  return names;
}

ModelFn language_model(const std::string& name, const LanguageOptions& options) {
  const LanguageEntry& entry = language_entry(name);
  return [&entry, options](Net& net) {
    Graph& graph = net.graph;
    const Dim length = net.training() ? Dim(options.length) : Dim("T");
    Value data = net.input("data", {DType::int64, {"N", length}});
    auto [x, last] = read_text(net, data, entry, options);
    if (!net.training()) x = transpose(graph, x, {1, 0, 2}, "states_of_rows");
    const Value scores = fc_layer(net, reshape(graph, x, {-1, options.hidden}, "states"),
                                  options.characters, {}, "pred");
    if (net.training()) {
      Value label = net.input("label", {DType::int64, {"N", length}});
      label = reshape(graph, transpose(graph, label, {1, 0}, "labels"), {-1}, "next_characters");
      predict_places(net, scores, label);
      return;
    }
    const Value prob = softmax(graph, scores, -1, "prob_of_places");
    net.output("prob", by_row(graph, prob, data, options.characters));
    for (const Net::Named& state : last) net.output(state.name, state.value);
  };
}

}  // namespace lockstep
