// SPDX-License-Identifier: Apache-2.0
// Stochastic regularisers as PyTorch exports them (tests/exported/write_regularisers.py): active in
// a training step, absent from a prediction.
#include "builders/net/regularisers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <set>

#include "data/npy.h"
#include "lockstep/data_parallel.h"
#include "lockstep/imported.h"
#include "lockstep/operators.h"
#include "tests/support/step_feeds.h"

namespace lockstep::testing {
namespace {

namespace fs = std::filesystem;

const std::string kFolder = std::string(LOCKSTEP_SOURCE_DIR) + "/tests/exported/regularisers/";

std::vector<std::string> exported() {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(kFolder))
    if (entry.path().extension() == ".onnx") names.insert(entry.path().stem().string());
  return {names.begin(), names.end()};
}

std::shared_ptr<const LoadedModel> loaded(const std::string& name) {
  return std::make_shared<const LoadedModel>(load_model(all_ops(), kFolder + name + ".onnx"));
}

TrainingModel built(const std::string& name, DataParallelOptions options) {
  const auto file = loaded(name);
  ImportedOptions imported;
  imported.trainable = trainable_initializers(*file, "loss", {});
  options.scope = "cpu";
  return build_data_parallel_model(all_ops(), imported_model(file, "loss", imported), MomentumSgd{},
                                   options);
}

std::vector<float> values_of(const Tensor& tensor) {
  return {tensor.as<float>(), tensor.as<float>() + tensor.count()};
}

class Regularisers : public ::testing::TestWithParam<std::string> {
 protected:
  const Literal x = read_npy(kFolder + "x.npy"), y = read_npy(kFolder + "y.npy");
};

TEST_P(Regularisers, AreAbsentFromAPrediction) {
  const TrainingModel model = built(GetParam(), {});
  EXPECT_EQ(drawing_nodes(model.inference), std::vector<std::string>());
  EXPECT_EQ(drawing_nodes(loaded(GetParam())->model.inference), std::vector<std::string>());
  for (int i = 0; i < model.inference.node_count(); ++i)
    EXPECT_FALSE(model.inference.node(i).op()->random &&
                 model.inference.node(i).type() != "Dropout")
        << model.inference.node(i).name();
  Session session(model, cpu_devices(1), all_kernels(), {});
  session.initialise();
  const Tensor fed = view_of(x);
  const auto predicted = values_of(session.inference().run({&fed, 1}, session.run_options(0))[1]);
  ASSERT_EQ(predicted.size(), y.values<float>().size());
  for (std::size_t i = 0; i < predicted.size(); ++i)
    EXPECT_NEAR(predicted[i], y.values<float>()[i], 1e-6) << i;
}

// The mean over many steps of a value that the regularisers scale is the prediction's value.
TEST_P(Regularisers, AreActiveInAStepAndKeepTheMean) {
  const TrainingModel model = built(GetParam(), {});
  Session session(model, cpu_devices(1), all_kernels(), {.seed = 3});
  session.initialise();
  auto program = session.program(model.step, model.feed_values(), {"cpu_0/y"}, {});
  float rate = 0;
  std::vector<Tensor> feeds{view_of(x), Tensor{{DType::float32, {1}}, &rate}};
  constexpr int kSteps = 4000;
  std::vector<double> mean(y.values<float>().size(), 0);
  std::set<float> first;
  for (uint64_t step = 0; step < kSteps; ++step) {
    const auto found = values_of(program->run(feeds, session.run_options(step))[0]);
    first.insert(found[0]);
    for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += found[i] / double{kSteps};
  }
  EXPECT_GT(first.size(), 2u);
  // Alpha dropout keeps the mean of numbers with mean 0 and variance 1 only.
  if (GetParam().find("alpha") != std::string::npos) return;
  for (std::size_t i = 0; i < mean.size(); ++i)
    EXPECT_NEAR(mean[i], y.values<float>()[i], 0.1) << i;
}

// The values of two steps, on each replica.
std::vector<std::vector<float>> losses_of(const TrainingModel& model, const Literal& x, int threads,
                                          uint64_t from) {
  Session session(model, cpu_devices(model.replicas), all_kernels(), {3, threads, {}});
  session.initialise();
  std::vector<std::vector<float>> all;
  float rate = 0;
  for (uint64_t step = from; step < 3; ++step) {
    Feeds feeds(model);
    for (const StepInput& input : model.inputs)
      if (input.role == Role::rate) feeds.set(Role::rate, rate);
    feeds.set("x", view_of(x));
    const auto fetched = session.step().run(feeds.tensors(), session.run_options(step));
    all.emplace_back();
    for (int k = 0; k < model.replicas; ++k) all.back().push_back(*fetched[k].as<float>());
  }
  return all;
}

TEST_P(Regularisers, DrawTheSameOnAnyThreadsAndAfterAResume) {
  for (DType precision : {DType::float32, DType::bfloat16}) {
    const TrainingModel model =
        built(GetParam(), {.replicas = 2, .micro_batches = 2, .precision = precision});
    const auto whole = losses_of(model, x, 1, 0);
    EXPECT_EQ(whole, losses_of(model, x, 2, 0));
    auto rest = losses_of(model, x, 1, 1);
    rest.insert(rest.begin(), whole[0]);
    EXPECT_EQ(whole, rest);
    EXPECT_NE(whole[1], whole[2]);
  }
}

TEST_P(Regularisers, AreAbsentFromAForwardPass) {
  const TrainingModel model = built(GetParam(), {.replicas = 2, .forward_only = true});
  const auto losses = losses_of(model, x, 1, 1);
  EXPECT_EQ(losses[0], losses[1]);
  double expected = 0;
  for (float value : y.values<float>()) expected += value * value / 48.0;
  EXPECT_NEAR(losses[0][0] + losses[0][1], expected, 1e-5);
}

INSTANTIATE_TEST_SUITE_P(Exported, Regularisers, ::testing::ValuesIn(exported()),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '.', '_');
                           return name;
                         });

// Arithmetic that resembles a regulariser and is part of a network's task.
class Lookalike : public ::testing::Test {
 protected:
  Value number(float value) {
    return graph.constant(join("number_", value), Literal::scalar(value));
  }
  Value uniform(Value like, float high = 1) {
    return graph.add_value(
        {.type = "RandomUniformLike", .inputs = {like}, .attributes = {{"high", high}}}, "u");
  }
  Value mask(Value numbers, Value share) {
    const Value less = graph.add_value({.type = "Less", .inputs = {numbers, share}}, "less");
    return cast(graph, less, DType::float32, "mask");
  }
  std::size_t recognised() { return regularisers_of(graph).size(); }

  Graph graph{all_ops()};
  Value x = graph.input("x", {DType::float32, {"N", 4}});
  Value row = graph.input("row", {DType::float32, {1, 4}});
};

TEST_F(Lookalike, IsLeftAlone) {
  mul(graph, x, mask(uniform(x), number(0.7F)));
  EXPECT_EQ(recognised(), 0u) << "not divided";
  mul(graph, x, div(graph, mask(uniform(x), number(0.7F)), number(0.5F)));
  EXPECT_EQ(recognised(), 0u) << "divided by another number";
  mul(graph, x, div(graph, mask(uniform(x, 2), number(0.7F)), number(0.7F)));
  EXPECT_EQ(recognised(), 0u) << "numbers up to 2";
  mul(graph, x, div(graph, mask(x, number(0.7F)), number(0.7F)));
  EXPECT_EQ(recognised(), 0u) << "no random numbers";
  mul(graph, x, div(graph, mask(uniform(x), row), number(0.7F)));
  EXPECT_EQ(recognised(), 0u) << "a computed probability";
  mul(graph, row, div(graph, mask(uniform(x), number(0.7F)), number(0.7F)));
  EXPECT_EQ(recognised(), 0u) << "the mask broadcasts the operand";
  mul(graph, x, div(graph, mask(uniform(x), number(0.7F)), number(0.7F)));
  EXPECT_EQ(recognised(), 1u);
}

// A Dropout is idle if it has a ratio, but no training_mode or a false one.
TEST(IdleDropouts, AreCounted) {
  Graph graph(all_ops(), "net");
  const Value x = graph.input("x", {DType::float32, {"N", 3}});
  const Value on = graph.constant("on", Literal::scalar(true));
  const Value off = graph.constant("off", Literal::scalar(false));
  const Value none_dropped = graph.constant("zero", Literal::scalar(0.F));
  const Value share = graph.constant("share", Literal::rounded_scalar(DType::float64, 0.1));
  const Value asked = graph.input("asked", {DType::boolean, {}});
  const auto dropout = [&](std::vector<Value> operands) {
    operands.insert(operands.begin(), x);
    graph.output(graph.add_value({.type = "Dropout", .inputs = std::move(operands)},
                                 join("y", graph.node_count())));
  };
  dropout({share, on});
  dropout({none_dropped});
  dropout({none_dropped, off});
  dropout({share, asked});
  EXPECT_EQ(idle_dropouts(graph), 0);
  dropout({});
  dropout({share});
  dropout({share, off});
  EXPECT_EQ(idle_dropouts(graph), 3);
}

}  // namespace
}  // namespace lockstep::testing
