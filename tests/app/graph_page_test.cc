// SPDX-License-Identifier: Apache-2.0
// The page of a graph: its data against the graph, gradients' partners, buckets, times of a trace,
// and hostile names.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "app/html.h"
#include "app/pages/buckets_of_nodes.h"
#include "app/pages/gradient_partners.h"
#include "app/pages/graph_page.h"
#include "app/pages/page.h"
#include "graph/printable.h"
#include "lockstep/operators.h"
#include "lockstep/optimizers.h"
#include "runtime/dist/sha256.h"
#include "tests/support/expect_error.h"
#include "tests/support/networks.h"
#include "tests/support/occurrences.h"
#include "tests/support/step_feeds.h"

namespace lockstep::testing {
namespace {

SourcedModel sourced_for_page(TrainingModel model) {
  SourcedModel source{LoadedModel{std::move(model)}, RunSettings{.devices = {}, .threads = 1}, {}};
  source.shares = {.batch = 3 * source.model.replicas, .replicas = source.model.replicas};
  return source;
}

// Without a plan, which these tests do not need.
nlohmann::json page_data_of(const SourcedModel& source, const GraphPage& page = {}) {
  return nlohmann::json::parse(graph_page_data(source, figures_of(source), {}, page));
}

std::string graph_page_of(const SourcedModel& source, const std::string& title) {
  std::ostringstream text;
  write_graph_page(text, source, figures_of(source), {}, {.title = title});
  return text.str();
}

// Reads the data's columns as the page's scripts do.
struct ReadPage {
  explicit ReadPage(const nlohmann::json& data) : data(data) {
    for (const char* list : {"inputs", "outputs"}) {
      std::vector<std::vector<int>>& of_node = lists[list];
      const nlohmann::json& flat = data["nodes"][list];
      for (std::size_t at = 0; at < flat.size();) {
        const int count = flat[at++];
        of_node.emplace_back();
        for (int i = 0; i < count; ++i) of_node.back().push_back(flat[at++]);
      }
    }
  }

  std::string path(int scope) const {
    return scope < 0 ? ""
                     : path(data["scopes"]["parent"][scope]) + text(data["scopes"]["text"][scope]);
  }
  std::string text(int index) const { return data["texts"][index]; }
  std::string name(const char* kind, int index) const {
    return path(data[kind]["scope"][index]) + text(data[kind]["text"][index]);
  }

  const nlohmann::json& data;
  std::map<std::string, std::vector<std::vector<int>>> lists;
};

TEST(GraphPageData, IsTheGraph) {
  for (const SmallNetwork& network : small_networks()) {
    SCOPED_TRACE(network.name);
    DataParallelOptions options = network.options;
    options.replicas = 2;
    options.scope = "cpu";
    const SourcedModel source = sourced_for_page(
        build_data_parallel_model(all_ops(), network.model, MomentumSgd{}, options));
    const ModelFigures figures = figures_of(source);
    const Graph& graph = main_graph(source.model);
    const nlohmann::json data = page_data_of(source);
    const ReadPage page(data);
    ASSERT_EQ(page.lists.at("inputs").size(), static_cast<std::size_t>(graph.node_count()));
    ASSERT_EQ(data["values"]["scope"].size(), static_cast<std::size_t>(graph.value_count()));
    for (int id = 0; id < graph.value_count(); ++id) {
      EXPECT_EQ(page.name("values", id), graph.name({id}));
      const auto& type = data["valueTypes"][data["values"]["type"][id].get<int>()];
      EXPECT_EQ(type[1], bytes_if_known(figures.types[id])) << graph.name({id});
    }
    for (int i = 0; i < graph.node_count(); ++i) {
      const Node node = graph.node(i);
      EXPECT_EQ(page.name("nodes", i), node.name());
      EXPECT_EQ(data["operators"][data["nodes"]["operator"][i].get<int>()][0], node.type());
      EXPECT_EQ(data["nodes"]["phase"][i], static_cast<int>(figures.phases[i]));
      EXPECT_EQ(data["nodes"]["replica"][i], node.replica());
      EXPECT_EQ(data["works"][data["nodes"]["work"][i].get<int>()], figures.flops[i].all());
      EXPECT_EQ(page.text(data["nodes"]["where"][i]), node.where());
      const auto expect_ids = [&](const char* list, std::span<const Value> values) {
        std::vector<int> ids;
        for (const Value value : values) ids.push_back(value.id);
        EXPECT_EQ(page.lists.at(list)[i], ids) << node.description();
      };
      expect_ids("inputs", node.inputs());
      expect_ids("outputs", node.outputs());
    }
    double parameters = 0;
    for (const auto& state : data["states"]) parameters += state[3].get<double>();
    EXPECT_EQ(parameters, figures.replicas[0].parameters);
  }
}

TEST(GradientPartners, AreOfTheSameLayerAndReplica) {
  const TrainingModel model = small_lenet(2);
  const Graph& graph = model.step;
  const std::vector<Phase> phases = phases_of(model);
  const auto pairs = gradient_partners(graph, phases);
  std::map<std::string, std::set<std::string>> gradients;
  std::set<int> seen;
  for (const auto& [forward, backward] : pairs) {
    EXPECT_EQ(phases[forward], Phase::forward);
    EXPECT_EQ(phases[backward], Phase::backward);
    EXPECT_EQ(graph.node(forward).replica(), graph.node(backward).replica());
    EXPECT_EQ(graph.node(forward).where(), graph.node(backward).where());
    EXPECT_TRUE(seen.insert(backward).second) << "one partner at most";
    gradients[graph.node(forward).type()].insert(graph.node(backward).type());
  }
  EXPECT_TRUE(gradients["Conv"].contains("ConvGradW")) << gradients["Conv"].size();
  EXPECT_TRUE(gradients["Conv"].contains("ConvGradX"));
  EXPECT_TRUE(gradients["Relu"].contains("ReluGrad"));
  EXPECT_FALSE(gradients["Relu"].contains("ConvGradW"));
  for (int i = 0; i < graph.node_count(); ++i)
    if (phases[i] == Phase::backward && graph.node(i).type().find("Grad") != std::string::npos) {
      EXPECT_TRUE(seen.contains(i)) << graph.node(i).description();
    }
}

TEST(BucketsOfNodes, AreThoseOfTheirGradients) {
  const TrainingModel model = small_lenet(2);
  const std::vector<Phase> phases = phases_of(model);
  const NodeBuckets buckets = buckets_of_nodes(model, phases);
  ASSERT_EQ(static_cast<int>(buckets.names.size()), occurrences(model.bucket_plan, "bucket "));
  std::set<int> reduced;
  for (int i = 0; i < model.step.node_count(); ++i) {
    if (phases[i] == Phase::reduce) {
      EXPECT_GE(buckets.of_node[i], 0) << model.step.node(i).description();
      reduced.insert(buckets.of_node[i]);
    }
    if (phases[i] == Phase::forward) {
      EXPECT_EQ(buckets.of_node[i], -1) << model.step.node(i).description();
    }
  }
  EXPECT_EQ(reduced.size(), buckets.names.size());
}

// Slices as (name, category, begin, duration), in microseconds, of one row.
std::string trace_of(
    const std::vector<std::tuple<std::string, std::string, double, double>>& slices) {
  nlohmann::json events = nlohmann::json::array({{{"ph", "M"}, {"name", "thread_name"}}, 7});
  for (const auto& [name, kind, begin, duration] : slices) {
    nlohmann::json event{{"ph", "X"}, {"name", name}, {"cat", kind},    {"pid", 1},
                         {"tid", 1},  {"ts", begin},  {"dur", duration}};
    if (kind != "step" && kind != "wait") event["args"]["operator"] = "Conv";
    events.push_back(event);
  }
  return nlohmann::json{{"traceEvents", events}}.dump();
}

TEST(NodeTimes, AreMediansOfStepsAndSumsOfParts) {
  const NodeTimes times = node_times(trace_of({{"step 3", "step", 0, 100},
                                               {"a", "forward", 1, 10},
                                               {"a", "forward", 12, 20},  // its second part
                                               {"wait", "wait", 40, 50},
                                               {"step 4", "step", 100, 100},
                                               {"a", "forward", 101, 90},
                                               {"step 5", "step", 200, 100},
                                               {"a", "forward", 201, 50},
                                               {"b", "backward", 260, 5},
                                               {"c", "forward", 400, 1}}),  // behind the last
                                     "t.json", RunProgram::training);
  EXPECT_EQ(times.steps, 3);
  EXPECT_EQ(times.micros.at("a"), 50);
  EXPECT_EQ(times.micros.at("b"), 5);
  EXPECT_EQ(times.micros.size(), 2u);
}

// Tests between the steps of a training run have nodes of the same names.
TEST(NodeTimes, AreOfOneProgram) {
  const std::string trace = trace_of({{"prediction", "step", 0, 100},
                                      {"a", "forward", 1, 1},
                                      {"step 3", "step", 100, 100},
                                      {"a", "forward", 101, 40},
                                      {"prediction", "step", 200, 100},
                                      {"a", "forward", 201, 3},
                                      {"c", "forward", 250, 3},
                                      {"prediction", "step", 300, 100},
                                      {"a", "forward", 301, 2}});
  const NodeTimes trained = node_times(trace, "t.json", RunProgram::training);
  EXPECT_EQ(trained.steps, 1);
  EXPECT_EQ(trained.micros.size(), 1u);
  EXPECT_EQ(trained.micros.at("a"), 40);
  const NodeTimes predicted = node_times(trace, "t.json", RunProgram::prediction);
  EXPECT_EQ(predicted.steps, 3);
  EXPECT_EQ(predicted.micros.at("a"), 2);
  EXPECT_EQ(predicted.micros.at("c"), 3);
  expect_error(
      [] {
        node_times(trace_of({{"prediction", "step", 0, 100}}), "t.json", RunProgram::training);
      },
      "no whole training step", "--trace-steps");
}

TEST(NodeTimes, OfOtherFilesAreErrors) {
  for (const std::string text : {"", "{}", "[1]", "{\"traceEvents\": 3}", "\xff"})
    expect_error([&] { node_times(text, "t\x1b.json", RunProgram::training); }, "t\\x1b.json",
                 "no trace");
  expect_error(
      [] {
        node_times(trace_of({{"a", "forward", 1, 10}}), "t.json", RunProgram::training);
      },
      "no whole training step", "--trace-steps");
  GraphPage page;
  page.times = NodeTimes{.micros = {{"cpu_0/of_another_model", 3}}, .steps = 1};
  expect_error([&] { page_data_of(sourced_for_page(small_mlp(1)), page); }, "another step");
}

TEST(GraphPageData, HasTimesOfItsNodes) {
  const SourcedModel source = sourced_for_page(small_mlp(1));
  GraphPage page;
  page.times =
      NodeTimes{.micros = {{source.model.step.node(2).name(), 12.5}, {"other", 1}}, .steps = 1};
  EXPECT_EQ(page_data_of(source, page)["times"], nlohmann::json({2, 12.5}));
}

// A chain of nodes with this name.
SourcedModel chain_named(int nodes, const std::string& name) {
  TrainingModel model(all_ops());
  Graph& graph = model.inference;
  Value value = graph.input("x", TensorType{DType::float32, {2, 3}});
  for (int i = 0; i < nodes; ++i)
    value = graph.add_value({.type = "Relu", .inputs = {value}},
                            i == 0 ? name : name + "_" + std::to_string(i));
  graph.output(value);
  return sourced_for_page(std::move(model));
}

TEST(HostileNamesOnAPage, AreNoCodesAndEndNoElement) {
  const std::string name = "a\x1b[2J\r</script><script>alert(1)</script><!--\"\\\xff\u202e";
  const SourcedModel source = chain_named(4, name);
  const std::string page = graph_page_of(source, name), plain = graph_page_of(source, "x");
  EXPECT_EQ(first_control(page, "\n"), "");
  EXPECT_EQ(page.find("<script>alert"), page.npos);
  const std::string clean = graph_page_of(chain_named(4, "a"), "x");
  EXPECT_EQ(occurrences(plain, "<script"), occurrences(clean, "<script"));
  EXPECT_EQ(occurrences(plain, "</script"), occurrences(clean, "</script"));
  EXPECT_EQ(occurrences(plain, "<!--"), occurrences(clean, "<!--"));
  const nlohmann::json data = page_data_of(source);
  EXPECT_EQ(ReadPage(data).name("nodes", 0), printable(name)) << "shown, escaped";
}

TEST(HostileNamesOnAPage, AMegabyteIsCut) {
  EXPECT_LT(page_data_of(chain_named(20, std::string(1 << 20, 'n'))).dump().size(), 20000u);
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "a/";
  EXPECT_LT(page_data_of(chain_named(20, deep + "b")).dump().size(), 20000u);
}

TEST(GraphPageData, OfTooManyNodesIsAnError) {
  const SourcedModel source = chain_named(20, "relu");
  EXPECT_EQ(page_data_of(source, {.most_nodes = 20})["nodes"]["scope"].size(), 20u);
  expect_error([&] { page_data_of(source, {.most_nodes = 19}); }, "20 nodes", "at most 19",
               "--format json");
}

// A script that a name brings into the document does not run.
TEST(Page, AllowsItsScriptsAlone) {
  const std::string page = graph_page_of(sourced_for_page(small_mlp(1)), "mlp");
  const std::size_t begin = page.find("content=\"default-src 'none'; script-src ");
  ASSERT_NE(begin, page.npos);
  const std::string policy = page.substr(begin, page.find('>', begin) - begin);
  EXPECT_EQ(policy.find("unsafe"), policy.npos);
  EXPECT_EQ(policy.find("http"), policy.npos);
  int scripts = 0;
  for (std::size_t at = page.find("<script>"); at != page.npos;
       at = page.find("<script>", at + 1)) {
    const std::size_t text = at + std::string("<script>").size();
    const std::string script = page.substr(text, page.find("</script>", text) - text);
    EXPECT_NE(policy.find("'sha256-" + base64(sha256(script)) + "'"), policy.npos);
    ++scripts;
  }
  EXPECT_EQ(scripts, 12);
  EXPECT_THROW(resource("none.js"), Error);
  EXPECT_EQ(page.find("src="), page.npos) << "nothing is loaded";
  EXPECT_EQ(page.find("http://"), page.npos);
  EXPECT_EQ(page.find("https://"), page.npos);
}

}  // namespace
}  // namespace lockstep::testing
