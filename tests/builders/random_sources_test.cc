// SPDX-License-Identifier: Apache-2.0
// Operators that draw random numbers, in a step and in a prediction: their streams, and the passes
// that must neither fold nor merge them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "graph/passes/equal_values.h"
#include "graph/passes/fold.h"
#include "graph/random_stream.h"
#include "lockstep/data_parallel.h"
#include "lockstep/operators.h"
#include "runtime/plan/fold.h"
#include "runtime/state/session_members.h"
#include "tests/support/networks.h"
#include "tests/support/step_feeds.h"

namespace lockstep::testing {
namespace {

constexpr const char* kSources[] = {"RandomUniformLike", "RandomNormalLike", "RandomUniform",
                                    "RandomNormal",      "Bernoulli",        "Multinomial"};

bool is_source(const Node& node) {
  return std::ranges::find(kSources, node.type()) != std::end(kSources);
}

TrainingModel drawing(DataParallelOptions options) {
  return build_data_parallel_model(all_ops(), small_network("random").model, MomentumSgd{},
                                   options);
}

// The streams of all sources, by the node's name.
std::map<std::string, int64_t> streams_of(const Graph& graph) {
  std::map<std::string, int64_t> found;
  for (int i = 0; i < graph.node_count(); ++i)
    if (const Node node = graph.node(i); is_source(node)) {
      EXPECT_FALSE(fixed_random_stream_of(node)) << node.name();
      found[node.name()] = random_stream_of(node);
    }
  return found;
}
std::set<int64_t> numbers_in(const std::map<std::string, int64_t>& streams) {
  std::set<int64_t> found;
  for (const auto& [name, stream] : streams) found.insert(stream);
  return found;
}

TEST(RandomSources, EveryShareHasItsOwnStreams) {
  for (DType precision : {DType::float32, DType::bfloat16}) {
    const auto streams =
        streams_of(drawing({.replicas = 3, .micro_batches = 2, .precision = precision}).step);
    EXPECT_EQ(streams.size(), 6u * 3 * 2);
    EXPECT_EQ(numbers_in(streams).size(), streams.size());
  }
}

TEST(RandomSources, StreamsBelongToTheReplicaOfAllAndNotToItsName) {
  const TrainingModel gpu = drawing({.replicas = 4});
  const auto on_gpu = streams_of(gpu.step);
  const auto on_cpu = streams_of(drawing({.replicas = 4, .scope = "cpu"}).step);
  EXPECT_EQ(on_gpu.at("gpu_2/noise"), on_cpu.at("cpu_2/noise"));
  EXPECT_EQ(on_gpu.at("gpu_1/uniform"),
            streams_of(drawing({.replicas = 2}).step).at("gpu_1/uniform"));
  const auto of_part = streams_of(partition(gpu, {1, 2}).step);
  EXPECT_EQ(of_part.size(), 6u * 2);
  for (const auto& [name, stream] : of_part) EXPECT_EQ(stream, on_gpu.at(name)) << name;
}

TEST(RandomSources, OfAPredictionHaveFixedStreams) {
  const TrainingModel model = drawing({.replicas = 2});
  std::set<int64_t> streams;
  int sources = 0;
  for (int i = 0; i < model.inference.node_count(); ++i)
    if (const Node node = model.inference.node(i); is_source(node)) {
      ++sources;
      EXPECT_FALSE(has_random_stream(node)) << node.name();
      ASSERT_TRUE(fixed_random_stream_of(node)) << node.name();
      streams.insert(*fixed_random_stream_of(node));
    }
  EXPECT_EQ(sources, 6);
  EXPECT_EQ(streams.size(), 6u);
}

TEST(RandomSources, APredictionIsAFunctionOfItsInputs) {
  const TrainingModel model = drawing({});
  Session first(model, cpu_devices(1), all_kernels(), {.seed = 1}),
      second(model, cpu_devices(1), all_kernels(), {.seed = 2});
  first.initialise();
  second.load(first.save());
  const std::vector<float> pixels(4 * 36, 0.5F);
  const Literal images = Literal::of<float>(pixels, {4, 1, 6, 6});
  const Tensor fed = view_of(images);
  const auto predicted = [&](Session& session, uint64_t step) {
    const Tensor y = session.inference().run({&fed, 1}, session.run_options(step))[0];
    return std::vector<float>(y.as<float>(), y.as<float>() + y.count());
  };
  const auto expected = predicted(first, 0);
  EXPECT_EQ(expected, predicted(first, 0));
  EXPECT_EQ(expected, predicted(first, 7)) << "another step";
  EXPECT_EQ(expected, predicted(second, 0)) << "another seed";
}

// The attribute `seed` is a float.
TEST(RandomSources, ASeedTakesThePlaceOfTheName) {
  const auto streams = [](float seed, const char* name) {
    const TrainingModel model = build_data_parallel_model(
        all_ops(),
        [&](Net& net) {
          Value w = net.param("w", {8}, constant(1));
          Value noise = net.graph.add_value(
              {.type = "RandomNormalLike", .inputs = {w}, .attributes = {{"seed", seed}}}, name);
          if (net.training())
            net.loss("loss", reduce_sum(net.graph, mul(net.graph, w, noise), {}, false, "loss"));
        },
        MomentumSgd{}, {.replicas = 2});
    return numbers_in(streams_of(model.step));
  };
  EXPECT_EQ(streams(3, "a").size(), 2u);
  EXPECT_EQ(streams(3, "a"), streams(3, "b"));
  EXPECT_NE(streams(3, "a"), streams(3.5F, "a"));
}

// Exporters give several nodes one name.
TEST(RandomSources, NodesOfOneNameDrawDifferentNumbers) {
  Graph graph(all_ops());
  const Value x = graph.input("x", {DType::float32, {4}});
  for (const char* result : {"y", "z"})
    graph.output(
        graph.add({.type = "RandomNormalLike", .inputs = {x}, .output_names = {result}}, "noise")
            .outputs()[0]);
  fix_random_streams(graph);
  ASSERT_EQ(graph.node(0).name(), graph.node(1).name());
  EXPECT_NE(fixed_random_stream_of(graph.node(0)), fixed_random_stream_of(graph.node(1)));
}

// Each source on constants or without operands, twice.
Graph twice_on_constants() {
  Graph graph(all_ops());
  const Value x = graph.constant("x", Literal::of<float>(std::vector<float>(8, 0.5F), {2, 4}));
  for (const char* type : kSources)
    for (int k = 0; k < 2; ++k) {
      const bool shaped =
          type == std::string("RandomUniform") || type == std::string("RandomNormal");
      NodeSpec spec{.type = type};
      if (shaped)
        spec.attributes = {{"shape", Dims{2, 4}}};
      else
        spec.inputs = {x};
      graph.output(graph.add_value(spec, type));
    }
  fix_random_streams(graph);
  return graph;
}

TEST(RandomSources, AreNeverFolded) {
  const Graph graph = twice_on_constants();
  const Graph folded = fold_constants(graph, {}, folder_for(all_kernels()));
  EXPECT_EQ(folded.node_count(), graph.node_count());
  for (Value output : folded.outputs()) EXPECT_FALSE(folded.literal(output));
}

TEST(RandomSources, AreNeverEqual) {
  const Graph graph = twice_on_constants();
  const std::vector<int> numbers = equal_values(graph, {});
  std::set<int> different;
  for (Value output : graph.outputs())
    different.insert(numbers[static_cast<std::size_t>(output.id)]);
  EXPECT_EQ(different.size(), graph.outputs().size());
}

// loss = sum of w * mask, so w * gradient adds up to the loss if the backward pass uses the mask
// of the forward pass.
TEST(RandomSources, GradientsGoWhereValuesWent) {
  for (DType precision : {DType::float32, DType::bfloat16}) {
    const TrainingModel model = build_data_parallel_model(
        all_ops(),
        [](Net& net) {
          Value w = net.param("w", {64}, gaussian(1));
          Value p = net.graph.constant("p", Literal::of<float>(std::vector<float>(64, 0.5F), {64}));
          Value mask = net.graph.add_value({.type = "Bernoulli", .inputs = {p}}, "mask");
          Value sum = reduce_sum(net.graph, mul(net.graph, w, mask, "kept"), {}, false, "sum");
          net.training() ? net.loss("loss", sum) : net.output("out", sum);
        },
        MomentumSgd{.momentum = 0}, {.replicas = 2, .scope = "cpu", .rules = {.weight_decay = 0}});
    Session session(model, cpu_devices(2), all_kernels(), {5, 1, {}});
    session.initialise();
    const Literal before = session.read("cpu_0/w");
    float rate = 1;
    std::vector<Tensor> feeds(session.step().feeds().size(), Tensor{{DType::float32, {1}}, &rate});
    const auto fetched = session.step().run(feeds, session.run_options(0));
    const double loss = *fetched[0].as<float>() + *fetched[1].as<float>();
    const Literal after = session.read("cpu_0/w");
    double moved = 0;
    int kept = 0;
    for (std::size_t i = 0; i < 64; ++i) {
      const double w = before.values<float>()[i], change = w - after.values<float>()[i];
      moved += w * change;
      kept += std::abs(change) > 1e-6;
    }
    EXPECT_NEAR(moved, loss, 0.02 * std::max(1.0, std::abs(loss))) << name_of(precision);
    EXPECT_GT(kept, 32) << "an element is dropped by both replicas with probability 1/4";
    EXPECT_LT(kept, 62);
  }
}

}  // namespace
}  // namespace lockstep::testing
