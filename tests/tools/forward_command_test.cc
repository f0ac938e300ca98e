// SPDX-License-Identifier: Apache-2.0
// `lockstep build --forward-only`: files with only the forward pass, and the commands that read
// them.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "lockstep/checkpoint.h"
#include "lockstep/model_files.h"
#include "lockstep/operators.h"
#include "tests/support/step_feeds.h"
#include "tests/support/training_command.h"

namespace lockstep::testing {
namespace {

class ForwardCommand : public TrainingCommand {
 protected:
  Outcome build(const std::string& source, std::vector<std::string> more = {}) {
    std::vector<std::string> words{"build", source, "--forward-only", "-o", file};
    words.insert(words.end(), more.begin(), more.end());
    return run_lockstep(words);
  }
  // y = x w and the mean of y, without metadata about a loss.
  void write_network() {
    Graph graph(all_ops(), "net");
    Value x = graph.input("x", {DType::float32, {"N", 2}});
    Value w = graph.constant("w", Literal::of<float>({{0.5F, -1}}, {2, 1}));
    graph.output(matmul(graph, x, w, "y"));
    graph.output(reduce_mean(graph, graph.at("y"), {}, false, "loss"));
    TrainingModel model(all_ops());
    model.inference = std::move(graph);
    save_model(model, folder / "net.onnx");
  }
  std::string file = folder / "forward.onnx";
};

TEST_F(ForwardCommand, InspectAndPlanReadSuchAFile) {
  const Outcome built = build("lenet", {"--devices", "cpu*2"});
  ASSERT_EQ(built.exit_code, 0) << built.err;
  const Outcome summary = run_lockstep({"inspect", file});
  ASSERT_EQ(summary.exit_code, 0) << summary.err;
  for (const char* said : {"replicas   2", "updates    none: the forward pass alone", "accuracy"})
    EXPECT_NE(summary.out.find(said), std::string::npos) << said << " in " << summary.out;
  for (const char* format : {"text", "order", "dot"}) {
    const Outcome shown = run_lockstep({"inspect", file, "--format", format});
    EXPECT_EQ(shown.exit_code, 0) << shown.err;
    EXPECT_EQ(shown.out.find("AllReduce"), std::string::npos) << format;
    EXPECT_EQ(shown.out.find("_grad"), std::string::npos) << format;
  }
  const Outcome planned = run_lockstep({"plan", file, "--devices", "cpu*2", "--batch", "8"});
  EXPECT_EQ(planned.exit_code, 0) << planned.err;
  EXPECT_NE(planned.out.find("cpu_1/loss"), std::string::npos) << planned.out;
  EXPECT_NE(planned.out.find("8 states of 2 replicas: one for all\n"), std::string::npos)
      << "no updates: " << planned.out;
  const auto buckets = [](std::vector<std::string> words) {
    words.insert(words.begin(), "inspect");
    words.insert(words.end(), {"--format", "buckets"});
    return run_lockstep(words).out;
  };
  EXPECT_EQ(buckets({file}), "# no buckets: a forward pass alone has no gradients to sum\n");
  EXPECT_EQ(buckets({"lenet"}), "# no buckets: a step of one replica sums no gradients\n");
  ASSERT_EQ(train("run", {"SOLVER.MAX_ITER", "1"}).exit_code, 0);
  EXPECT_EQ(buckets({folder / "run/model.onnx"}),
            "# no buckets: a network alone has no gradients to sum\n");
}

TEST_F(ForwardCommand, WithoutALossIsRunForItsOutputs) {
  write_network();
  ASSERT_EQ(build(folder / "net.onnx", {"--devices", "cpu*2"}).exit_code, 0);
  const Outcome summary = run_lockstep({"inspect", file});
  const Outcome planned = run_lockstep({"plan", file, "--devices", "cpu*2", "--batch", "2"});
  ASSERT_EQ(planned.exit_code, 0) << planned.err;
  EXPECT_NE(planned.out.find("MatMul"), std::string::npos) << planned.out;
  for (const char* name : {"cpu_0/y", "cpu_1/y", "cpu_0/loss", "cpu_1/loss"}) {
    EXPECT_NE(planned.out.find(join("fetch ", name, "@")), std::string::npos) << planned.out;
    EXPECT_NE(summary.out.find(join("output   ", name, " float32")), std::string::npos)
        << summary.out;
  }
}

TEST_F(ForwardCommand, FrozenNamesAreParametersAlsoWithoutALoss) {
  write_network();
  const auto with = [&](const std::string& frozen) {
    return build(folder / "net.onnx", {"MODEL.FREEZE", frozen});
  };
  expect_refused(with("[\"zzz\"]"), {"MODEL.FREEZE", "no parameter is called 'zzz'"});
  EXPECT_FALSE(std::filesystem::exists(file));
  ASSERT_EQ(build(folder / "net.onnx").exit_code, 0);
  const std::string expected = read_file(file);
  ASSERT_EQ(with("[\"w\"]").exit_code, 0);
  EXPECT_EQ(read_file(file), expected);
}

TEST_F(ForwardCommand, StepSaysWhatToUse) {
  ASSERT_EQ(build("mlp").exit_code, 0);
  std::filesystem::create_directories(folder / "in");
  expect_refused(run_lockstep({"step", file, "--inputs", folder / "in", "--outputs", folder / "out",
                               "--loss", "loss"}),
                 {"forward.onnx: contains the forward pass of a training step", "not a network",
                  "the network's own file", "Session"});
  EXPECT_FALSE(std::filesystem::exists(folder / "out"));
  expect_refused(run_lockstep({"build", file, "--forward-only", "--loss", "loss", "-o",
                               folder / "other.onnx"}),
                 {"contains the forward pass"});
}

TEST_F(ForwardCommand, OptionsOfGradientsAreRefusedUnlessAConfigurationHasThem) {
  const std::vector<std::pair<std::string, std::string>> words{{"SOLVER.CLIP_NORM", "1"},
                                                               {"SOLVER.DEFERRED", "true"},
                                                               {"SOLVER.SKIP_NON_FINITE", "true"},
                                                               {"TRAIN.SYNC_BATCH_NORM", "true"},
                                                               {"TRAIN.STATISTICS", "mean"}};
  for (const auto& [key, value] : words) {
    expect_refused(build("mlp", {key, value}), {"the forward pass alone", key});
    EXPECT_FALSE(std::filesystem::exists(file)) << key;
    const Outcome built = build(config(), {key, value});
    EXPECT_EQ(built.exit_code, 0) << key << ": " << built.err;
    std::filesystem::remove(file);
  }
}

TEST_F(ForwardCommand, AConfigurationsCheckpointGivesTheLossOfItsWeights) {
  ASSERT_EQ(train("run").exit_code, 0);
  ASSERT_EQ(build(config(), {"TRAIN.MICRO_BATCHES", "2", "SOLVER.CLIP_NORM", "1"}).exit_code, 0);
  const LoadedModel forward = load_model(all_ops(), file);
  Session session(forward.model, cpu_devices(2), all_kernels(), {1, 1, {}});
  const auto loss = [&] {
    StepFeeds feeds(forward.model, 16, 10, {1, 28, 28});
    const auto fetched = session.step().run(feeds.at(0, 0), session.run_options(0));
    return Results(forward.model, fetched).loss();
  };
  session.initialise();
  const float first = loss();
  load_checkpoint(session, folder / "run/checkpoint.safetensors");
  const StateValues before = session.save();
  const float last = loss();
  EXPECT_NE(first, last);
  EXPECT_TRUE(session.save() == before);
  // The same number, computed from the prediction's probabilities.
  StepFeeds feeds(forward.model, 16, 10, {1, 28, 28});
  feeds.at(0, 0);
  const Tensor images{{DType::float32, {16, 1, 28, 28}}, feeds.images().data()};
  const Tensor prob = session.inference().run({&images, 1}, session.run_options(0))[0];
  double expected = 0;
  const int64_t* labels = feeds.labels().data();
  for (int64_t row = 0; row < 16; ++row)
    expected -= std::log(static_cast<double>(prob.as<float>()[row * 10 + labels[row]])) / 16;
  EXPECT_NEAR(last, expected, 1e-5 * std::max(1.0, expected));
}

TEST_F(ForwardCommand, ANetworkOfAFileNeedsNoLoss) {
  write_network();
  const std::vector<float> rows{1, 2, 3, 4, -1, 0, 2, 2};
  const Tensor fed{{DType::float32, {4, 2}}, const_cast<float*>(rows.data())};
  const auto run = [&](const std::vector<std::string>& fetches) {
    const LoadedModel forward = load_model(all_ops(), file);
    EXPECT_EQ(forward.model.states.size(), 1u) << "w is a parameter";
    Session session(forward.model, cpu_devices(2), all_kernels(), {1, 1, {}});
    session.initialise();
    Feeds feeds(forward.model);
    feeds.set("x", fed);
    auto program = session.program(forward.model.step, forward.model.feed_values(), fetches, {});
    std::vector<float> numbers;
    for (const Tensor& each : program->run(feeds.tensors(), session.run_options(0)))
      numbers.insert(numbers.end(), each.as<float>(), each.as<float>() + each.count());
    return numbers;
  };
  ASSERT_EQ(build(folder / "net.onnx", {"--devices", "cpu*2"}).exit_code, 0);
  EXPECT_EQ(run({"cpu_0/y", "cpu_1/y"}), (std::vector<float>{-1.5F, -2.5F, -0.5F, -1}));
  ASSERT_EQ(build(folder / "net.onnx", {"--devices", "cpu*2", "--loss", "loss"}).exit_code, 0);
  const LoadedModel forward = load_model(all_ops(), file);
  ASSERT_EQ(forward.model.losses.size(), 1u);
  const std::vector<float> losses = run(forward.model.losses[0].values);
  EXPECT_FLOAT_EQ(losses[0] + losses[1], (-1.5F - 2.5F - 0.5F - 1) / 4);
}

TEST_F(ForwardCommand, EveryTaskHasAForwardPass) {
  for (const char* source : {"/configs/detection/scenes_faster_rcnn_fpn.yaml",
                             "/configs/control/cart_pole.yaml", "/configs/lenet_digits.yaml"}) {
    const Outcome built = build(LOCKSTEP_SOURCE_DIR + std::string(source));
    ASSERT_EQ(built.exit_code, 0) << source << ": " << built.err;
    const LoadedModel forward = load_model(all_ops(), file);
    EXPECT_TRUE(forward.model.updates.empty()) << source;
    EXPECT_FALSE(forward.model.losses.empty()) << source;
  }
}

}  // namespace
}  // namespace lockstep::testing
