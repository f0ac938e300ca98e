// SPDX-License-Identifier: Apache-2.0
// The batch norms of a file: which of them train, and nodes of that type which are no layers.
#include "builders/net/imported_batch_norms.h"

#include <gtest/gtest.h>

#include "builders/net/trained_initializers.h"
#include "lockstep/data_parallel.h"
#include "lockstep/imported.h"
#include "lockstep/operators.h"
#include "lockstep/optimizers.h"
#include "tests/support/expect_error.h"

namespace lockstep::testing {
namespace {

// loss = mean(second(first(x w))), x [N, 3]: two batch norms with statistics of initializers.
class ImportedBatchNorms : public ::testing::Test {
 protected:
  Value initializer(const std::string& name, float value, const Dims& dims = {3}) {
    file->initializers.push_back(name);
    const std::vector<float> values(static_cast<std::size_t>(element_count(dims)), value);
    return graph().constant(name, Literal::of<float>(values, dims));
  }
  Value norm(Value x, const std::string& name, Value mean, Value variance, int64_t training) {
    return graph()
        .add({.type = "BatchNormalization",
              .inputs = {x, initializer(name + ".weight", 1), initializer(name + ".bias", 0), mean,
                         variance},
              .attributes = {{"training_mode", training}},
              .outputs = training != 0 ? 3 : 1},
             "node_" + name)
        .outputs()[0];
  }
  Value layer(Value x, const std::string& name, int64_t training) {
    const Value mean = initializer(name + ".running_mean", 0);
    return norm(x, name, mean, initializer(name + ".running_var", 1), training);
  }
  void network(int64_t first, int64_t second) {
    const Value x = graph().input("x", {DType::float32, {"N", 3}});
    Value y = matmul(graph(), x, initializer("w", 0.5F, {3, 3}), "product");
    y = layer(layer(y, "first", first), "second", second);
    graph().output(reduce_mean(graph(), mul(graph(), y, y, "square"), {}, false, "loss"));
  }
  TrainingModel step(const std::vector<std::string>& patterns) {
    const InitializerChoices choices =
        choose_initializers(*file, "loss", {.batch_norms = patterns});
    return build_data_parallel_model(
        all_ops(),
        imported_model(file, "loss",
                       {.trainable = choices.trained(), .train_batch_norm = patterns}),
        MomentumSgd{}, {.replicas = 1});
  }
  int64_t fixed(const std::vector<std::string>& patterns) {
    return choose_initializers(*file, "loss", {.batch_norms = patterns}).fixed_batch_norms;
  }
  Graph& graph() { return file->model.inference; }

  std::shared_ptr<LoadedModel> file =
      std::make_shared<LoadedModel>(LoadedModel{TrainingModel(all_ops())});
};

TEST_F(ImportedBatchNorms, PatternsNameTheNodeTheScaleOrTheRunningMean) {
  network(0, 0);
  EXPECT_EQ(fixed({}), 2);
  EXPECT_EQ(fixed({"*"}), 0);
  for (const char* pattern : {"node_first", "first.weight", "first.running_mean", "*first*"}) {
    EXPECT_EQ(fixed({pattern}), 1) << pattern;
    const TrainingModel model = step({pattern});
    EXPECT_NE(model.find_state("first.running_mean"), nullptr) << pattern;
    EXPECT_EQ(model.find_state("second.running_mean"), nullptr) << pattern;
  }
  for (const char* pattern : {"first", "first.bias", "first.running_var"})
    expect_error([&] { fixed({pattern}); }, "matches no batch norm", "the file has 2 batch norms");
  const InitializerChoices choices =
      choose_initializers(*file, "loss", {.batch_norms = {"*first"}});
  EXPECT_EQ(choices.find("first.running_var")->why, InitializerReason::moving_statistic);
  EXPECT_EQ(choices.find("second.running_var")->why, InitializerReason::statistic);
  EXPECT_EQ(choices.find("second.weight")->why, InitializerReason::usual);
}

TEST_F(ImportedBatchNorms, TrainingModeNeedsNoPattern) {
  network(1, 0);
  EXPECT_EQ(fixed({}), 1);
  const TrainingModel model = step({});
  EXPECT_NE(model.find_state("first.running_mean"), nullptr);
  EXPECT_EQ(model.find_state("second.running_mean"), nullptr);
}

// A weight standardisation with computed statistics, or with statistics from constants of the code.
TEST_F(ImportedBatchNorms, StatisticsThatAreNoInitializersMakeNoLayer) {
  for (const bool computed : {true, false}) {
    *file = LoadedModel{TrainingModel(all_ops())};
    const Value x = graph().input("x", {DType::float32, {"N", 3}});
    const Value w = initializer("w", 0.5F, {4, 3});
    Value mean = graph().constant("zeros", Literal::of<float>(std::vector<float>(3, 0), {3}));
    if (computed)
      mean = graph().add_value(
          {.type = "ReduceMean",
           .inputs = {w},
           .attributes = {{"axes", std::vector<int64_t>{0}}, {"keepdims", int64_t{0}}}},
          "means");
    const Value ones = graph().constant("ones", Literal::of<float>(std::vector<float>(3, 1), {3}));
    const Value standard = norm(w, "gain", mean, ones, 0);
    const Value y = mul(graph(), x, reduce_mean(graph(), standard, {0}, false, "row"), "y");
    graph().output(reduce_mean(graph(), mul(graph(), y, y, "square"), {}, false, "loss"));
    EXPECT_TRUE(batch_norms_of(*file).empty());
    EXPECT_EQ(fixed({}), 0);
    const std::string plain = text_of(step({}).step);
    EXPECT_EQ(plain.find("BatchNormTrain"), std::string::npos);
    EXPECT_EQ(plain, text_of(step({"*"}).step)) << computed;
  }
}

// It always uses the statistics of its operand, and keeps none of them.
TEST_F(ImportedBatchNorms, AStandardisationInTrainingModeHasNoState) {
  const Value x = graph().input("x", {DType::float32, {"N", 3}});
  const Value w = initializer("w", 0.5F, {4, 3});
  const auto constant = [&](const char* name, float value) {
    return graph().constant(name, Literal::of<float>(std::vector<float>(3, value), {3}));
  };
  const Value standard = norm(w, "gain", constant("zeros", 0), constant("ones", 1), 1);
  const Value y = mul(graph(), x, reduce_mean(graph(), standard, {0}, false, "row"), "y");
  graph().output(y);
  graph().output(reduce_mean(graph(), mul(graph(), y, y, "square"), {}, false, "loss"));
  const TrainingModel model = step({});
  EXPECT_NE(text_of(model.step).find("BatchNormTrain"), std::string::npos);
  EXPECT_EQ(model.find_state("zeros"), nullptr);
  EXPECT_NE(text_of(model.inference).find("training_mode=1"), std::string::npos)
      << text_of(model.inference);
}

}  // namespace
}  // namespace lockstep::testing
