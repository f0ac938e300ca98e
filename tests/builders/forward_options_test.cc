// SPDX-License-Identifier: Apache-2.0
// The forward pass alone: its nodes, its outputs, and compatible and incompatible options.
#include "builders/step/forward.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "graph/print.h"
#include "graph/summary.h"
#include "graph/verify.h"
#include "lockstep/data_parallel.h"
#include "lockstep/layers.h"
#include "lockstep/operators.h"
#include "lockstep/optimizers.h"
#include "tests/builders/forward_steps.h"
#include "tests/support/expect_error.h"

namespace lockstep::testing {
namespace {

using namespace forward_steps;

TEST(ForwardOnly, HasNoGradientsNoUpdatesAndNoReduceButOfCounts) {
  const TrainingModel model = built(small_network("batch_norm").model, {}, 2, true);
  EXPECT_TRUE(model.updates.empty());
  EXPECT_TRUE(model.gradients.empty());
  EXPECT_TRUE(model.checks.empty());
  EXPECT_EQ(model.bucket_plan, "");
  for (const State& state : model.states)
    EXPECT_TRUE(is_parameter(state.kind) || state.kind == StateKind::computed) << state.name;
  for (const StepInput& input : model.inputs) EXPECT_EQ(input.role, Role::data) << input.name;
  for (int i = 0; i < model.step.node_count(); ++i) {
    EXPECT_FALSE(model.step.node(i).op()->collective) << model.step.node(i).description();
    EXPECT_NE(model.step.node(i).type(), "BatchNormTrain");
  }
  EXPECT_NE(summary_of(model).find("updates    none: the forward pass alone"), std::string::npos);
  const TrainingModel padded = built(small_network("padded").model, {}, 2, true);
  int reduces = 0;
  for (int i = 0; i < padded.step.node_count(); ++i)
    reduces += padded.step.node(i).op()->collective;
  EXPECT_EQ(reduces, 1) << "for the count of valid positions";
  // A forward pass has neither Adam's slots nor its count of updates.
  const TrainingModel adam = build_data_parallel_model(all_ops(), small_network("plain").model,
                                                       Adam{}, {.forward_only = true});
  EXPECT_EQ(adam.states.size(), 4u);
}

// The model defines its masks for training; the forward pass drops nothing.
TEST(ForwardOnly, ADropoutPassesAllAndSoSaysItsMask) {
  const ModelFn network = [](Net& net) {
    const Value x = net.input("data", {DType::float32, {"N", 1, 6, 6}});
    const Value half = net.graph.constant("half", Literal::scalar(0.5F));
    const Value on = net.graph.constant("on", Literal::scalar(true));
    const Node drop =
        net.graph.add({.type = "Dropout", .inputs = {x, half, on}, .outputs = 2}, "drop");
    net.output("kept", drop.outputs()[0]);
    net.output("mask", drop.outputs()[1]);
  };
  const TrainingModel model = built(network, {}, 2, true);
  Session session(model, cpu_devices(2), all_kernels(), {5, 1, {}});
  session.initialise();
  StepFeeds feeds(model, 4, kClasses, kSmall);
  auto program = session.program(model.step, model.feed_values(), {"cpu_1/kept", "cpu_1/mask"}, {});
  const auto fetched = program->run(feeds.at(0, 0), session.run_options(0));
  for (int64_t i = 0; i < 72; ++i) {
    EXPECT_EQ(fetched[0].as<float>()[i], feeds.images()[static_cast<std::size_t>(72 + i)]);
    EXPECT_TRUE(fetched[1].as<bool>()[i]);
  }
}

TEST(ForwardOnly, AModelWithoutALossHasItsOutputsOnEveryReplica) {
  const ModelFn network = [](Net& net) {
    Value x = net.input("data", {DType::float32, {"N", 1, 6, 6}});
    x = batch_norm_layer(net, conv_layer(net, x, 4, {.kernel = 3}, "conv1"), {}, "bn1");
    net.output("scores", fc_layer(net, x, 5, {}, "pred"));
    net.output("fed", net.graph.at("data"));
  };
  expect_error([&] { built(network, {}, 2, false); }, "the model declares no loss", "forward_only");
  for (int parts : {1, 2}) {
    const TrainingModel model = built(network, {.micro_batches = parts}, 2, true);
    verify(model);
    Session session(model, cpu_devices(2), all_kernels(), {5, 1, {}});
    session.initialise();
    StepFeeds feeds(model, 8, kClasses, kSmall);
    const auto fed = feeds.at(0, 0);
    std::vector<std::string> names;
    for (int k = 0; k < 2; ++k)
      for (int part = 0; part < parts; ++part)
        for (const char* output : {"scores", "fed"})
          names.push_back(join("cpu_", k, "/", name_in_part(part, output)));
    auto program = session.program(model.step, model.feed_values(), names, {});
    const auto fetched = program->run(fed, session.run_options(0));
    const Tensor whole{{DType::float32, {8, 1, 6, 6}}, feeds.images().data()};
    const Tensor expected = session.inference().run({&whole, 1}, session.run_options(0))[0];
    // The step runs without losses and metrics, only for these outputs.
    const std::vector<std::string>& fetches = session.step().fetches();
    const auto by_step = session.step().run(fed, session.run_options(0));
    ASSERT_EQ(by_step.size(), names.size());
    for (std::size_t i = 0; i < names.size(); ++i) {
      const auto at = std::find(fetches.begin(), fetches.end(), names[i]);
      ASSERT_NE(at, fetches.end()) << names[i];
      const Tensor& found = by_step[static_cast<std::size_t>(at - fetches.begin())];
      ASSERT_EQ(found.desc, fetched[i].desc) << names[i];
      EXPECT_TRUE(
          std::equal(found.as<float>(), found.as<float>() + found.count(), fetched[i].as<float>()))
          << names[i];
    }
    std::size_t row = 0;
    for (std::size_t i = 0; i < fetched.size(); i += 2)
      for (int64_t j = 0; j < fetched[i].count(); ++j, ++row)
        EXPECT_NEAR(fetched[i].as<float>()[j], expected.as<float>()[row], 1e-6) << names[i];
    EXPECT_EQ(row, 40u);
  }
}

TEST(ForwardOnly, RefusesOptionsOfGradientsByName) {
  const auto refused = [](const DataParallelOptions& options, const char* name, const char* why) {
    expect_error([&] { built(small_network("batch_norm").model, options, 2, true); },
                 "the forward pass alone", name, why);
  };
  refused({.clip = {.norm = 1}}, "clip (SOLVER.CLIP_NORM", "no gradients");
  refused({.clip = {.each_norm = 1}}, "clip (SOLVER.CLIP_NORM", "no gradients");
  refused({.clip = {.value = 1}}, "clip (SOLVER.CLIP_NORM", "no gradients");
  refused({.deferred = true}, "deferred (SOLVER.DEFERRED)", "no gradients");
  refused({.skip_non_finite = true}, "skip_non_finite", "no update to skip");
  refused({.synchronised_batch_norm = true}, "synchronised_batch_norm", "running statistics");
  refused({.statistics = StatisticsPolicy::mean}, "statistics (TRAIN.STATISTICS)",
          "changes no running statistics");
  // A complete configuration may set these options.
  const DataParallelOptions kept = for_forward_only({.micro_batches = 2,
                                                     .deferred = true,
                                                     .skip_non_finite = true,
                                                     .synchronised_batch_norm = true,
                                                     .statistics = StatisticsPolicy::in_turn,
                                                     .clip = {.norm = 1}});
  EXPECT_EQ(built(small_network("batch_norm").model, kept, 2, true).inputs.size(), 4u);
  expect_error([] { built(small_network("plain").model, {.frozen = {"fc9*"}}, 2, true); },
               "no parameter is called 'fc9*'");
}

// Options that are documented as without effect.
TEST(ForwardOnly, RulesLossScalingAndEmbeddingsHaveNoEffect) {
  const SmallNetwork& network = small_network("integer_input");
  const std::string expected = text_of(built(network.model, {}, 2, true));
  EXPECT_EQ(text_of(built(network.model,
                          {.frozen = {"*"},
                           .rules = {.weight_decay = 0.5F},
                           .embeddings = EmbeddingSum::sparse,
                           .loss_scaling = {.first = 8}},
                          2, true)),
            expected);
  const TrainingModel narrow =
      built(network.model, {.precision = DType::float16, .loss_scaling = {.first = 8}}, 2, true);
  EXPECT_EQ(narrow.find_state("loss_scale"), nullptr);
}

}  // namespace
}  // namespace lockstep::testing
