// SPDX-License-Identifier: Apache-2.0
#include "runtime/plan/layouts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "graph/gradient.h"
#include "lockstep/operators.h"
#include "lockstep/random.h"
#include "lockstep/session_options.h"
#include "lockstep/types.h"
#include "operators/conv/conv.h"
#include "operators/layout/layout.h"
#include "operators/pool/pool.h"
#include "runtime/exec/executor.h"
#include "runtime/exec/states.h"
#include "runtime/exec/workers.h"
#include "runtime/plan/compile.h"
#include "runtime/plan/plan.h"
#include "runtime/plan/traffic.h"
#include "tests/support/expect_error.h"

namespace lockstep::testing {
namespace {

constexpr int64_t kChannels = 32;

Literal random_literal(const Dims& dims, uint64_t stream) {
  PhiloxSequence random(3, stream);
  std::vector<float> values(static_cast<std::size_t>(element_count(dims)));
  for (float& value : values) value = static_cast<float>(random.uniform(-1, 1));
  return Literal::of<float>(values, dims);
}

// Convolutions, a residual, a pool, a Concat of whole blocks, and its gradients.
struct Network {
  Graph graph{all_ops(), "network"};
  std::vector<std::string> fetches;

  Network() {
    Value x = graph.input("x", {DType::float32, {2, 3, 12, 12}});
    auto layer = [&](Value in, const std::string& name) {
      const int64_t channels = graph.shape(in)[1].size();
      Value w = graph.constant(name + "_w", random_literal({kChannels, channels, 3, 3}, channels));
      weights.push_back(w);
      return conv(graph, in, w, none, {{.kernel = {3, 3}, .pads = {1, 1, 1, 1}}}, name);
    };
    Value a = relu(graph, layer(x, "a"), "a_relu");
    Value b = add(graph, layer(a, "b"), a, "sum");
    Value c = max_pool(graph, b, {.kernel = {2, 2}, .strides = {2, 2}}, "pool");
    Value d = concat(graph, {c, layer(c, "c")}, 1, "joined");
    Value loss = reduce_mean(graph, mul(graph, d, d, "square"), {}, false, "loss");
    Gradients gradients = add_gradients(graph, {{loss}}, weights);
    fetches = {"loss", "sum"};
    for (Value gradient : gradients.values) fetches.push_back(graph.name(gradient));
  }

  std::vector<Value> weights;
};

struct Ran {
  std::vector<std::vector<float>> values;
  std::string plan;
};

Ran run(const Network& network, bool layouts) {
  States store({}, {});
  Workers workers(1, 1);
  CompileOptions options;
  options.layouts = layouts;
  auto executor = make_executor(compile({.graph = network.graph,
                                         .feeds = {"x"},
                                         .feed_dims = {{2, 3, 12, 12}},
                                         .fetches = network.fetches,
                                         .devices = cpu_devices(1),
                                         .kernels = all_kernels(),
                                         .options = options}),
                                store, workers);
  Literal x = random_literal({2, 3, 12, 12}, 99);
  std::vector<Tensor> feeds{view_of(x)};
  executor->run(feeds, {});
  Ran ran{{}, text_of(executor->plan())};
  for (const Tensor& tensor : executor->fetches())
    ran.values.emplace_back(tensor.as<float>(), tensor.as<float>() + tensor.count());
  return ran;
}

TEST(Layout, ChangesNoValueThatOthersSee) {
  Network network;
  Ran plain = run(network, false), blocked = run(network, true);
  ASSERT_EQ(plain.values.size(), blocked.values.size());
  for (std::size_t i = 0; i < plain.values.size(); ++i) {
    ASSERT_EQ(plain.values[i].size(), blocked.values[i].size());
    float largest = 0;
    for (float value : plain.values[i]) largest = std::max(largest, std::abs(value));
    for (std::size_t k = 0; k < plain.values[i].size(); ++k)
      ASSERT_NEAR(plain.values[i][k], blocked.values[i][k], 1e-5 * largest)
          << network.fetches[i] << " element " << k;
  }
  EXPECT_EQ(plain.plan.find("Reorder"), std::string::npos);
}

TEST(Layout, KeepsBlocksFromConvolutionToConvolution) {
  const std::string plan = run(Network(), true).plan;
  const bool blocked =
      plan.find("/c16") != std::string::npos || plan.find("/c8") != std::string::npos;
  // One for the fetched `sum`, one before ReduceMean, three around the Slices that are Concat's
  // gradient; none between convolutions, pools and activations. The reorder of ReduceMean's
  // gradient, a constant, runs once, outside the steps, and so do the reorders of the filters. If
  // oneDNN prefers no blocks (depending on the processor), there are no reorders at all.
  std::size_t reorders = 0;
  for (std::size_t at = plan.find("Reorder ["); at != plan.npos;
       at = plan.find("Reorder [", at + 1))
    ++reorders;
  EXPECT_EQ(reorders, blocked ? 5u : 0u) << plan;
  EXPECT_EQ(plan.find("refresh Reorder square_grad") != plan.npos, blocked) << plan;
}

// The mean's gradient is small and row-major. Its broadcast writes blocks directly.
TEST(Layout, SpreadsTheGradientOfAMeanOverBlocks) {
  Graph graph(all_ops(), "mean");
  const Value x = graph.input("x", {DType::float32, {2, 3, 12, 12}});
  const Value w = graph.constant("w", random_literal({kChannels, 3, 3, 3}, 5));
  const Value y = relu(graph, conv(graph, x, w, none, {{.kernel = {3, 3}}}, "y"), "y_relu");
  const Value mean = reshape(graph, global_average_pool(graph, y, "pool"), {2, kChannels}, "mean");
  const Value loss = reduce_mean(graph, mul(graph, mean, mean, "square"), {}, false, "loss");
  const Gradients gradients = add_gradients(graph, {{loss}}, {w});
  const Plan plan = compile({.graph = graph,
                             .feeds = {"x"},
                             .feed_dims = {{2, 3, 12, 12}},
                             .fetches = {graph.name(gradients.values[0])},
                             .devices = cpu_devices(1),
                             .kernels = all_kernels()});
  int reorders = 0, spread = 0;
  for (const PlanStep& step : plan.steps) {
    const TensorDesc& made = plan.slots[static_cast<std::size_t>(step.out[0])].desc;
    if (step.type == "Reorder") {
      ++reorders;
      EXPECT_EQ(made.dims, (Dims{2, kChannels, 1, 1})) << text_of(plan);
    }
    if (step.type == "GlobalAveragePoolGrad") spread = made.layout.block();
  }
  EXPECT_EQ(spread > 1, reorders > 0) << "a processor may prefer no blocks\n" << text_of(plan);
}

// A bias's gradient: sums by channel have the bits of the row-major tensor's sums.
TEST(Layout, SumsChannelsOfBlocksInTheSameOrder) {
  const auto run_on = [](const Graph& graph, const Literal& x, std::vector<std::string> fetches) {
    States store({}, {});
    Workers workers(1, 1);
    auto executor = make_executor(compile({.graph = graph,
                                           .feeds = {"x"},
                                           .feed_dims = {x.dims()},
                                           .fetches = fetches,
                                           .devices = cpu_devices(1),
                                           .kernels = all_kernels()}),
                                  store, workers);
    const std::vector<Tensor> feeds{view_of(x)};
    executor->run(feeds, {});
    Ran ran{{}, text_of(executor->plan())};
    for (const Tensor& tensor : executor->fetches())
      ran.values.emplace_back(tensor.as<float>(), tensor.as<float>() + tensor.count());
    return ran;
  };
  for (const int64_t side : {2, 13}) {
    Graph graph(all_ops(), "convolved");
    const Value x = graph.input("x", {DType::float32, {3, kChannels, side, side}});
    const Value w = graph.constant("w", random_literal({kChannels, kChannels, 1, 1}, 5));
    const Value y = conv(graph, x, w, none, {{.kernel = {1, 1}}}, "y");
    reduce_sum(graph, y, {0, 2, 3}, false, "sums");
    const Ran blocked = run_on(graph, random_literal({3, kChannels, side, side}, 7), {"y", "sums"});
    Graph plain(all_ops(), "plain");
    const Dims dims{3, kChannels, side, side};
    reduce_sum(plain, plain.input("x", {DType::float32, to_shape(dims)}), {0, 2, 3}, false, "sums");
    const Ran row_major = run_on(plain, Literal::of<float>(blocked.values[0], dims), {"sums"});
    EXPECT_EQ(blocked.values[1], row_major.values[0]) << side;
    if (blocked.plan.find("y/c8") != std::string::npos ||
        blocked.plan.find("blocks_of") != std::string::npos) {
      EXPECT_NE(blocked.plan.find("by channel, in blocks of"), std::string::npos) << blocked.plan;
    }
  }
}

// Counts the reorders that are steps, and the reorders that convolutions make of their weights.
TEST(Layout, CountsTheBytesThatAreReordered) {
  const Network network;
  const Plan plan = compile({.graph = network.graph,
                             .feeds = {"x"},
                             .feed_dims = {{2, 3, 12, 12}},
                             .fetches = network.fetches,
                             .devices = cpu_devices(1),
                             .kernels = all_kernels()});
  const auto bytes_of = [&](const std::vector<int>& slots) {
    std::size_t bytes = 0;
    for (const int slot : slots)
      if (slot >= 0) bytes += plan.slots[slot].desc.bytes();
    return bytes;
  };
  std::size_t all = 0, steps = 0;
  bool blocked = false;
  for (const PlanStep& step : plan.steps) {
    const std::size_t bytes = bytes_of(step.in) + bytes_of(step.out);
    all += bytes;
    if (step.type == "Reorder") steps += bytes, blocked = true;
  }
  const Traffic traffic = traffic_of(plan);
  const std::size_t within = traffic.reordered - steps;
  EXPECT_EQ(traffic.bytes, all + within);
  if (blocked) {
    EXPECT_GE(within, 2 * kChannels * kChannels * 9 * sizeof(float)) << "the weight of b alone";
  }
  EXPECT_NE(text_of(plan).find(join("traffic: ", traffic.bytes, " bytes read and written, ",
                                    traffic.reordered, " of them by reorders (")),
            std::string::npos);
}

float as_cast(float x, DType to) {
  switch (to) {
    case DType::boolean:
      return x != 0 ? 1.0F : 0.0F;
    case DType::int32:
    case DType::int64:
      return std::trunc(x);
    case DType::float16:
      return static_cast<float>(Half(x));
    case DType::bfloat16:
      return static_cast<float>(BFloat16(x));
    default:
      return x;
  }
}

// A cast keeps channel blocks if its result can be reordered again. oneDNN supports neither
// booleans nor 64-bit numbers.
TEST(Layout, OfCastsIsOneThatCanBeLeft) {
  for (const int64_t channels : {16, 13})
    for (const DType to : {DType::boolean, DType::int32, DType::int64, DType::float64,
                           DType::float16, DType::bfloat16, DType::float32}) {
      SCOPED_TRACE(join(channels, " channels to ", to));
      Graph graph(all_ops());
      const Value x = graph.input("x", {DType::float32, {2, 3, 12, 12}});
      const Value w = graph.constant("w", random_literal({channels, 3, 3, 3}, 7));
      const Value y = conv(graph, x, w, none, {}, "y");
      const Value z = cast(graph, y, to, "z");
      cast(graph, z, DType::float32, "back");
      States store({}, {});
      Workers workers(1, 1);
      auto executor = make_executor(compile({.graph = graph,
                                             .feeds = {"x"},
                                             .feed_dims = {{2, 3, 12, 12}},
                                             .fetches = {"y", "z", "back"},
                                             .devices = cpu_devices(1),
                                             .kernels = all_kernels()}),
                                    store, workers);
      const Literal image = random_literal({2, 3, 12, 12}, 99);
      const std::vector<Tensor> feeds{view_of(image)};
      executor->run(feeds, {});
      const auto fetched = executor->fetches();
      ASSERT_EQ(fetched[1].desc.dtype, to);
      for (int64_t i = 0; i < fetched[0].count(); ++i)
        ASSERT_EQ(fetched[2].as<float>()[i], as_cast(fetched[0].as<float>()[i], to)) << i;
    }
}

// oneDNN has no convolution with an empty result. The query for its preferred layout throws an
// exception that is not an Error.
TEST(Layout, WhatNoEngineTakesIsNamed) {
  Graph graph(all_ops());
  Value x = graph.input("x", {DType::float32, {2, 3, 4, 4}});
  Value w = graph.constant("w", Literal(DType::float32, {0, 3, 1, 1}));
  conv(graph, x, w, none, {}, "y");
  expect_error(
      [&] {
        compile({.graph = graph,
                 .feeds = {"x"},
                 .feed_dims = {{2, 3, 4, 4}},
                 .fetches = {"y"},
                 .devices = cpu_devices(1),
                 .kernels = all_kernels()});
      },
      "y (Conv", "could not create");
}

// Queries the preferred layouts alone.
KernelRequest request_of(const Node& node, std::vector<TensorDesc> in,
                         std::vector<TensorDesc> out) {
  return {node, std::move(in), std::move(out), {}};
}

TEST(Layout, FlatKernelsFollowTheirOperands) {
  Graph graph(all_ops());
  Value x = graph.input("x", {DType::float32, {2, 32, 4, 4}});
  Node node = graph.add({.type = "Add", .inputs = {x, x}}, "y");
  const TensorDesc plain{DType::float32, {2, 32, 4, 4}},
      blocked{DType::float32, {2, 32, 4, 4}, Layout::blocks(16)};
  const TensorDesc scalar{DType::float32, {}}, row{DType::float32, {4}};
  auto blocks = [&](const TensorDesc& a, const TensorDesc& b) {
    Layouts layouts = flat(request_of(node, {a, b}, {plain}));
    return std::vector<int>{layouts.in[0].block(), layouts.in[1].block(), layouts.out[0].block()};
  };
  EXPECT_EQ(blocks(plain, plain), (std::vector<int>{1, 1, 1}));
  EXPECT_EQ(blocks(blocked, plain), (std::vector<int>{16, 16, 16}));
  EXPECT_EQ(blocks(scalar, blocked), (std::vector<int>{1, 16, 16}));
  EXPECT_EQ(blocks(blocked, row), (std::vector<int>{1, 1, 1})) << "broadcast along rows";
}

}  // namespace
}  // namespace lockstep::testing
