// SPDX-License-Identifier: Apache-2.0
// Which initializers of a file are trained, and why.
#include "builders/net/trained_initializers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "builders/net/imported.h"
#include "lockstep/operators.h"
#include "lockstep/random.h"
#include "tests/support/expect_error.h"

namespace lockstep::testing {
namespace {

std::vector<float> noise(int64_t count) {
  PhiloxSequence random(3, 1);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = static_cast<float>(0.1 * random.normal());
  return values;
}

class TrainedInitializers : public ::testing::Test {
 protected:
  Value initializer(const std::string& name, const Literal& literal) {
    file.initializers.push_back(name);
    return graph.constant(name, literal);
  }
  Value initializer(const std::string& name, const std::vector<float>& values, const Dims& dims) {
    return initializer(name, Literal::of<float>(values, dims));
  }
  Value noisy(const std::string& name, const Dims& dims) {
    return initializer(name, noise(element_count(dims)), dims);
  }
  Value op(const std::string& type, const std::vector<Value>& inputs, const std::string& name,
           const Attributes& attributes = {}) {
    return graph.add_value({.type = type, .inputs = inputs, .attributes = attributes}, name);
  }
  void loss(Value value) { graph.output(reduce_mean(graph, value, {}, false, "loss")); }

  InitializerReason why(const std::string& name, const TrainingPatterns& patterns = {}) {
    const InitializerChoices choices = choose_initializers(file, "loss", patterns);
    const InitializerChoice* found = choices.find(name);
    return found ? found->why : InitializerReason::other_type;
  }
  // The reason for a table that is added to an input.
  InitializerReason why_of_table(const Literal& table) {
    file = LoadedModel{TrainingModel(all_ops())};
    const Value x = graph.input("x", {DType::float32, to_shape(table.dims())});
    loss(mul(graph, exp(x), initializer("table", table), "y"));
    return why("table");
  }
  Value exp(Value x) { return op("Exp", {x}, "exp"); }

  LoadedModel file{TrainingModel(all_ops())};
  Graph& graph = file.model.inference;
};

TEST_F(TrainedInitializers, ClassWeightsAreConstantAndCannotBeAskedFor) {
  const Value x = graph.input("x", {DType::float32, {"N", 3}});
  const Value labels = graph.input("labels", {DType::int64, {"N"}});
  const Value scores = matmul(graph, x, noisy("w", {3, 3}), "scores");
  const Value weights = initializer("weights", {1, 2, 3}, {3});
  graph.output(op("SoftmaxCrossEntropyLoss", {scores, labels, op("Identity", {weights}, "same")},
                  "loss", {{"reduction", "mean"}}));
  EXPECT_EQ(why("weights"), InitializerReason::class_weights);
  EXPECT_EQ(why("w"), InitializerReason::usual);
  expect_error([&] { why("w", {.trained = {"w*"}}); }, "MODEL.TRAIN, --train", "'weights'",
               "class weights of a loss, which cannot be trained");
  EXPECT_EQ(why("w", {.trained = {"w"}}), InitializerReason::asked);
}

TEST_F(TrainedInitializers, NormalisersOfAnInputAreConstant) {
  for (const DType type : {DType::float32, DType::uint8}) {
    file = LoadedModel{TrainingModel(all_ops())};
    const Value data = graph.input("x", {type, {"N", 3, 4, 4}});
    Value x = cast(graph, data, DType::float32, "floats");
    x = op("Div", {x, initializer("all", Literal::scalar(255.F))}, "unit");
    const Value mean = initializer("mean", {0.4F, 0.5F, 0.6F}, {3});
    const Value shape = graph.constant("shape", Literal::vector({1, 3, 1, 1}));
    x = op("Sub", {x, op("Reshape", {mean, shape}, "wide")}, "centred");
    x = op("Div", {x, initializer("std", {0.2F, 0.3F, 0.25F}, {1, 3, 1, 1})}, "scaled");
    x = op("Conv", {x, noisy("w", {2, 3, 3, 3})}, "conv");
    loss(mul(graph, x, noisy("gain", {2, 1, 1}), "y"));
    for (const char* name : {"all", "mean", "std"})
      EXPECT_EQ(why(name), InitializerReason::normaliser) << name;
    for (const char* name : {"w", "gain"}) EXPECT_EQ(why(name), InitializerReason::usual) << name;
  }
}

TEST_F(TrainedInitializers, OtherArithmeticOnAnInputCannotBeDecided) {
  const Value x = graph.input("x", {DType::float32, {"N", 3}});
  Value y = mul(graph, x, noisy("gain", {3}), "scaled");
  y = add(graph, y, noisy("shift", {3}), "shifted");
  loss(add(graph, matmul(graph, y, noisy("w", {3, 3}), "product"), noisy("b", {3}), "y"));
  for (const char* name : {"gain", "shift"})
    EXPECT_EQ(why(name), InitializerReason::unsure) << name;
  for (const char* name : {"w", "b"}) EXPECT_EQ(why(name), InitializerReason::usual) << name;
}

// The affine part of a layer that follows the normalisation is learnt.
TEST_F(TrainedInitializers, ANormalisationEndsAtALearntScale) {
  const Value x = graph.input("x", {DType::float32, {"N", 3}});
  Value y = op("Sub", {x, noisy("mean", {3})}, "centred");
  y = op("Div", {y, initializer("std", {1, 2, 3}, {3})}, "scaled");
  y = mul(graph, y, noisy("gain", {3}), "gained");
  loss(add(graph, y, noisy("shift", {3}), "y"));
  for (const char* name : {"mean", "std"})
    EXPECT_EQ(why(name), InitializerReason::normaliser) << name;
  for (const char* name : {"gain", "shift"}) EXPECT_EQ(why(name), InitializerReason::usual) << name;
}

TEST_F(TrainedInitializers, TablesAreRecognised) {
  const auto filled = [](const Dims& dims, auto number) {
    std::vector<float> values;
    for (int64_t i = 0; i < element_count(dims); ++i)
      values.push_back(number(i / dims.back(), i % dims.back()));
    return Literal::of<float>(values, dims);
  };
  const auto angle = [](int64_t row, int64_t column, int64_t columns) {
    return static_cast<double>(row) *
           std::pow(10000.0, -static_cast<double>(column / 2 * 2) / static_cast<double>(columns));
  };
  const auto sines = [&](int64_t row, int64_t column) {
    const double w = angle(row, column, 16);
    return static_cast<float>(column % 2 == 0 ? std::sin(w) : std::cos(w));
  };
  EXPECT_EQ(why_of_table(filled({1, 50, 16}, sines)), InitializerReason::unsure);
  // The cosines of rotary positions, in a separate table.
  EXPECT_EQ(why_of_table(filled({50, 16},
                                [&](int64_t row, int64_t column) {
                                  return static_cast<float>(std::cos(angle(row, column, 16)));
                                })),
            InitializerReason::unsure);
  EXPECT_EQ(why_of_table(filled({16}, [](int64_t, int64_t i) { return std::pow(0.7F, i); })),
            InitializerReason::unsure);
  EXPECT_EQ(why_of_table(filled({16}, [](int64_t, int64_t i) { return static_cast<float>(i); })),
            InitializerReason::unsure);
  const auto mask = [](float off) {
    return [off](int64_t row, int64_t column) { return column > row % 8 ? off : 0; };
  };
  EXPECT_EQ(why_of_table(filled({1, 1, 8, 8}, mask(-1e9F))), InitializerReason::mask);
  EXPECT_EQ(why_of_table(filled({2, 8, 8}, mask(1))), InitializerReason::mask);
  EXPECT_EQ(why_of_table(filled({8, 8}, mask(-std::numeric_limits<float>::infinity()))),
            InitializerReason::infinite);
  EXPECT_EQ(
      why_of_table(filled({4, 8}, [](int64_t row, int64_t i) { return row == i ? -100.F : 0.F; })),
      InitializerReason::mask);
}

TEST_F(TrainedInitializers, InitialWeightsAreNoTables) {
  for (const Dims& dims : {Dims{64, 32}, {64}, {8, 8}, {3, 3}, {1, 1, 3, 3}, {1}, {}}) {
    const auto count = static_cast<std::size_t>(element_count(dims));
    EXPECT_EQ(why_of_table(Literal::of<float>(noise(element_count(dims)), dims)),
              InitializerReason::usual);
    for (const float number : {0.F, 1.F, 1e-6F, -100.F})
      EXPECT_EQ(why_of_table(Literal::of<float>(std::vector<float>(count, number), dims)),
                InitializerReason::usual)
          << number << " " << dims.size();
  }
  std::vector<float> identity(64);
  for (std::size_t i = 0; i < 8; ++i) identity[9 * i] = 1;
  EXPECT_EQ(why_of_table(Literal::of<float>(identity, {8, 8})), InitializerReason::usual);
}

TEST_F(TrainedInitializers, ZerosThatAreOnlyJoinedCannotBeDecided) {
  const Value x = graph.input("x", {DType::float32, {"N", 6}});
  const Value bias = graph.add_value(
      {.type = "Concat",
       .inputs = {noisy("q_bias", {2}), initializer("k_bias", {0, 0}, {2}), noisy("v_bias", {2})},
       .attributes = {{"axis", int64_t{0}}}},
      "bias");
  loss(add(graph, exp(x), bias, "y"));
  EXPECT_EQ(why("k_bias"), InitializerReason::unsure);
  EXPECT_EQ(why("q_bias"), InitializerReason::usual);
  EXPECT_EQ(why("k_bias", {.frozen = {"k_*"}}), InitializerReason::frozen);
}

TEST_F(TrainedInitializers, NamesOfPyTorchDecideWhereTheyAreCertain) {
  const Value x = graph.input("x", {DType::float32, {"N", 2}});
  Value y = op("Sub", {exp(x), noisy("bn.running_mean", {2})}, "centred");
  y = mul(graph, y, noisy("rotary.inv_freq", {2}), "turned");
  loss(add(graph, y, noisy("my_running_mean", {2}), "y"));
  EXPECT_EQ(why("bn.running_mean"), InitializerReason::named_statistic);
  EXPECT_EQ(why("rotary.inv_freq"), InitializerReason::unsure);
  EXPECT_EQ(why("my_running_mean"), InitializerReason::usual);
}

TEST_F(TrainedInitializers, TheExportersKindsDecideBeforeRulesAndAfterPatterns) {
  const Value x = graph.input("x", {DType::float32, {"N", 3}});
  Value y = op("Sub", {x, noisy("learnt_mean", {3})}, "centred");
  y = op("Div", {y, noisy("learnt_std", {3})}, "scaled");
  y = matmul(graph, y, noisy("w", {3, 3}), "product");
  y = mul(graph, y, noisy("buffer", {3}), "buffered");
  y = mul(graph, y, initializer("number", Literal::scalar(0.125F)), "numbered");
  y = mul(graph, y, noisy("folded", {3}), "with_folded");
  loss(mul(graph, y, noisy("constant", {3}), "y"));
  noisy("idle", {3});
  file.kinds = {
      {"learnt_mean", InitializerKind::parameter}, {"learnt_std", InitializerKind::parameter},
      {"w", InitializerKind::parameter},           {"idle", InitializerKind::parameter},
      {"buffer", InitializerKind::buffer},         {"constant", InitializerKind::constant}};
  for (const char* name : {"learnt_mean", "learnt_std", "w"})
    EXPECT_EQ(why(name), InitializerReason::exported_parameter) << name;
  EXPECT_EQ(why("buffer"), InitializerReason::exported_buffer);
  EXPECT_EQ(why("constant"), InitializerReason::exported_constant);
  EXPECT_EQ(why("number"), InitializerReason::code);
  EXPECT_EQ(why("folded"), InitializerReason::unsure) << "made by the exporter's optimiser";
  EXPECT_EQ(why("idle"), InitializerReason::unused);
  const TrainingPatterns patterns{.frozen = {"w", "learnt_*"}, .trained = {"buffer", "*_std"}};
  EXPECT_EQ(why("w", patterns), InitializerReason::frozen);
  EXPECT_EQ(why("buffer", patterns), InitializerReason::asked);
  EXPECT_EQ(why("learnt_mean", patterns), InitializerReason::frozen);
  EXPECT_EQ(why("learnt_std", patterns), InitializerReason::asked)
      << "MODEL.TRAIN overrides MODEL.FREEZE";
  EXPECT_EQ(trainable_initializers(file, "loss", {"w"}, {"buffer"}),
            (std::set<std::string>{"buffer", "folded", "learnt_mean", "learnt_std"}));
}

TEST_F(TrainedInitializers, PatternsThatDoNothingAreErrors) {
  const Value x = graph.input("x", {DType::float32, {"N", 3}});
  loss(mul(graph, exp(x), noisy("w", {3}), "y"));
  noisy("idle", {3});
  const auto refused = [&](const TrainingPatterns& patterns, const auto&... parts) {
    expect_error([&] { choose_initializers(file, "loss", patterns); }, parts...);
  };
  refused({.frozen = {"zzz"}}, "MODEL.FREEZE, --freeze", "no parameter is called 'zzz'");
  refused({.trained = {"zzz"}}, "MODEL.TRAIN, --train", "no parameter is called 'zzz'");
  refused({.trained = {"idle"}}, "'idle' names nothing that can be trained",
          "the loss does not depend on it");
  refused({.frozen = {"w"}, .trained = {"*"}}, "MODEL.TRAIN (--train) names everything that 'w'");
  refused({.batch_norms = {"bn*"}}, "MODEL.TRAIN_BATCH_NORM, --train-batch-norm", "'bn*'",
          "matches no batch norm", "the file has 0 batch norms");
  EXPECT_EQ(why("w", {.batch_norms = {"*"}}), InitializerReason::usual) << "all of none";
  file.kinds = {{"w", InitializerKind::buffer}};
  expect_error([&] { choose_some_initializers(file, "loss", {}); }, "there is nothing to train",
               "'w' is constant (a buffer, the exporter says)", "MODEL.TRAIN");
}

}  // namespace
}  // namespace lockstep::testing
