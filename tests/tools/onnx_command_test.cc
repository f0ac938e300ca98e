// SPDX-License-Identifier: Apache-2.0
// `lockstep run` and `lockstep step`: input files, output files, and refusals.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>

#include "data/npy.h"
#include "graph/file.h"
#include "lockstep/model_files.h"
#include "lockstep/operators.h"
#include "tests/support/program.h"
#include "tests/support/step_feeds.h"
#include "tests/support/temporary_folder.h"

namespace lockstep::testing {
namespace {

namespace fs = std::filesystem;

Literal floats(const std::vector<float>& values, const Dims& dims) {
  return Literal::of<float>(values, dims);
}

// loss = mean((x w + b)^2), x [N, 2]; y/out is x w + b.
class OnnxCommand : public ::testing::Test {
 protected:
  void SetUp() override {
    Graph graph(all_ops(), "net");
    Value x = graph.input("x", {DType::float32, {"N", 2}});
    Value w = graph.constant("layer/w", floats({0.5F, -1}, {2, 1}));
    Value b = graph.constant("b", floats({0.25F}, {1}));
    Value y = add(graph, matmul(graph, x, w, "product"), b, "y/out");
    graph.output(y);
    graph.output(reduce_mean(graph, mul(graph, y, y, "square"), {}, false, "loss"));
    TrainingModel model(all_ops());
    model.inference = std::move(graph);
    save_model(model, folder / "net.onnx");
    fs::create_directories(folder / "in");
    write_npy(folder / "in/x.npy", floats({1, 2, 3, 4, -1, 0, 2, 2}, {4, 2}));
  }

  Outcome step(std::vector<std::string> more = {}) {
    std::vector<std::string> arguments{"step",        folder / "net.onnx", "--inputs",
                                       folder / "in", "--outputs",         folder / "out"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_lockstep(arguments);
  }
  Outcome step_of(const std::string& file) {
    return run_lockstep(
        {"step", file, "--inputs", folder / "in", "--outputs", folder / "out", "--loss", "loss"});
  }
  std::vector<float> output(const std::string& name) {
    Literal value = read_npy(folder / ("out/" + name + ".npy"));
    return {value.values<float>().begin(), value.values<float>().end()};
  }
  void expect_refused(const Outcome& outcome, const std::vector<std::string>& parts) {
    testing::expect_refused(outcome, parts);
    EXPECT_FALSE(fs::exists(folder / "out")) << "a file was written";
  }
  TemporaryFolder folder;
};

TEST_F(OnnxCommand, RunWritesEveryOutputUnderItsName) {
  Outcome outcome = run_lockstep(
      {"run", folder / "net.onnx", "--inputs", folder / "in", "--outputs", folder / "out"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(output("y%2Fout"), (std::vector<float>{-1.25F, -2.25F, -0.25F, -0.75F}));
  EXPECT_FLOAT_EQ(output("loss")[0], (1.5625F + 5.0625F + 0.0625F + 0.5625F) / 4);
}

TEST_F(OnnxCommand, RunPredictsWithATrainedStep) {
  TrainingModel model = small_mlp(2);
  StateValues values = train(model, 8, 2, {1, 6, 6});
  save_model(model, folder / "trained.onnx", {&values});
  save_model(model, folder / "untrained.onnx");
  fs::create_directories(folder / "images");
  write_npy(folder / "images/data.npy", floats(std::vector<float>(72, 0.5F), {2, 1, 6, 6}));
  auto run = [&](const std::string& file) {
    return run_lockstep(
        {"run", folder / file, "--inputs", folder / "images", "--outputs", folder / "out"});
  };
  expect_refused(run("untrained.onnx"), {"contains no value of 'cpu_0/fc1_w'"});
  Outcome outcome = run("trained.onnx");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const std::vector<float> prob = output("prob");
  ASSERT_EQ(prob.size(), 10u);
  EXPECT_NEAR(std::accumulate(prob.begin(), prob.begin() + 5, 0.0), 1, 1e-5);
}

TEST_F(OnnxCommand, AWrongLossIsToldByFileAndOption) {
  const std::string file = folder / "net.onnx";
  expect_refused(step({"--loss", ""}), {"--loss is empty"});
  expect_refused(step({"--loss", "lss"}), {file + ", --loss lss: ", "has no value 'lss'"});
  expect_refused(step({"--loss", "y/out"}), {file + ", --loss y/out: ", "should be a scalar"});
}

TEST_F(OnnxCommand, StepIsSgdWithMomentumAndDecayOnEveryParameter) {
  for (const char* devices : {"cpu", "cpu*2", "cpu*4"}) {
    Outcome outcome =
        step({"--loss", "loss", "--lr", "0.1", "--weight-decay", "0.5", "--devices", devices});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_FLOAT_EQ(output("loss")[0], 1.8125F);
    // d loss / d y = y / 2; then y x and y summed over the batch.
    const std::vector<float> dw{0.5F * (-1.25F - 6.75F + 0.25F - 1.5F),
                                0.5F * (-2.5F - 9 + 0 - 1.5F)};
    const float db = 0.5F * (-1.25F - 2.25F - 0.25F - 0.75F);
    const std::vector<float> w{0.5F, -1};
    for (std::size_t i = 0; i < 2; ++i) {
      EXPECT_FLOAT_EQ(output("layer%2Fw_grad")[i], dw[i]);
      EXPECT_FLOAT_EQ(output("layer%2Fw")[i], w[i] - 0.1F * (dw[i] + 0.5F * w[i]));
    }
    EXPECT_FLOAT_EQ(output("b_grad")[0], db);
    EXPECT_FLOAT_EQ(output("b")[0], 0.25F - 0.1F * (db + 0.5F * 0.25F));
  }
}

TEST_F(OnnxCommand, BuildMakesAStepOfANetwork) {
  Outcome built = run_lockstep({"build", folder / "net.onnx", "--loss", "loss", "--devices",
                                "gpu*2", "-o", folder / "step.onnx"});
  ASSERT_EQ(built.exit_code, 0) << built.err;
  Outcome inspected = run_lockstep({"inspect", folder / "step.onnx", "--format", "order"});
  EXPECT_NE(inspected.out.find("gpu_0/layer/w_grad_sum gpu_1/layer/w_grad_sum"), std::string::npos)
      << inspected.out;
  LoadedModel step = load_model(all_ops(), folder / "step.onnx");
  EXPECT_EQ(step.model.replicas, 2);
  ASSERT_EQ(step.model.gradients.size(), 2u);
  EXPECT_EQ(step.model.gradients[0].values[1], "gpu_1/b_grad_sum");
  expect_refused(run_lockstep({"build", "lenet", "--loss", "loss"}), {"--loss", "lenet"});
  expect_refused(run_lockstep({"build", folder / "net.onnx", "-o", folder / "none.onnx"}),
                 {"net.onnx: contains a network, but no training step", "--loss"});
  EXPECT_FALSE(fs::exists(folder / "none.onnx"));
  expect_refused(step_of(folder / "step.onnx"), {"contains a training step"});
}

// Two convolutions with stochastic depth, as PyTorch exports them.
TEST_F(OnnxCommand, RandomLayersTrainAndDrawBySeed) {
  const std::string exported = std::string(LOCKSTEP_SOURCE_DIR) + "/tests/exported/regularisers/";
  fs::remove(folder / "in/x.npy");
  fs::copy_file(exported + "x.npy", folder / "in/x.npy");
  const auto loss_of = [&](const std::string& file, std::vector<std::string> more) {
    std::vector<std::string> arguments{"step",      exported + file, "--inputs", folder / "in",
                                       "--outputs", folder / "out",  "--loss",   "loss"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome outcome = run_lockstep(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    return std::pair{output("loss"), output("first.weight_grad")};
  };
  for (const char* file : {"drop_path.dynamo.onnx", "stochastic_depth.torchscript.onnx"}) {
    EXPECT_EQ(loss_of(file, {}), loss_of(file, {})) << file;
    EXPECT_NE(loss_of(file, {"--seed", "5"}), loss_of(file, {"--seed", "6"})) << file;
    EXPECT_EQ(loss_of(file, {"--devices", "cpu*2"}), loss_of(file, {"--devices", "cpu*2"}));
  }
  // `run` computes the graph as the file has it: random, and the same in each run.
  const auto y = [&] {
    const Outcome outcome = run_lockstep({"run", exported + "drop_path.dynamo.onnx", "--inputs",
                                          folder / "in", "--outputs", folder / "out"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return output("y");
  };
  const std::vector<float> first = y();
  EXPECT_EQ(first, y());
  const Literal predicted = read_npy(exported + "y.npy");
  EXPECT_FALSE(std::ranges::equal(first, predicted.values<float>()));
}

TEST_F(OnnxCommand, FrozenParametersStay) {
  ASSERT_EQ(step({"--loss", "loss", "--freeze", "layer/*"}).exit_code, 0);
  EXPECT_TRUE(fs::exists(folder / "out/b_grad.npy"));
  EXPECT_FALSE(fs::exists(folder / "out/layer%2Fw_grad.npy"));
  EXPECT_FALSE(fs::exists(folder / "out/layer%2Fw.npy"));
}

// The declared shape decides if an input is divided among replicas, not a coincidence of sizes.
TEST_F(OnnxCommand, AnInputOfFixedSizeIsNoBatch) {
  const auto save_net = [&](const TensorType& scale) {
    Graph graph(all_ops(), "net");
    Value x = graph.input("x", {DType::float32, {"N", 2}});
    Value each = graph.input("each", scale);
    Value w = graph.constant("w", floats({0.5F, -1}, {2, 1}));
    Value y = matmul(graph, x, w, "y");
    Value total = reduce_sum(graph, each, {0}, false, "total");
    graph.output(mul(graph, reduce_mean(graph, y, {}, false, "mean"), total, "loss"));
    TrainingModel model(all_ops());
    model.inference = std::move(graph);
    save_model(model, folder / "net.onnx");
  };
  save_net({DType::float32, {4}});
  write_npy(folder / "in/each.npy", floats({1, 2, 3, 4}, {4}));
  ASSERT_EQ(step({"--loss", "loss"}).exit_code, 0);
  const std::vector<float> alone = output("loss");
  ASSERT_EQ(step({"--loss", "loss", "--devices", "cpu*2"}).exit_code, 0);
  EXPECT_NEAR(output("loss")[0], alone[0], 1e-5);

  fs::remove_all(folder / "out");
  save_net({DType::float32, {"N"}});
  write_npy(folder / "in/each.npy", floats({1, 2}, {2}));
  expect_refused(step({"--loss", "loss", "--devices", "cpu*2"}),
                 {"'each' has 2 rows", "'x' has 4", "[N]"});
}

TEST_F(OnnxCommand, InputsMayBeNamedByPosition) {
  fs::rename(folder / "in/x.npy", folder / "in/input_0.npy");
  EXPECT_EQ(step({"--loss", "loss"}).exit_code, 0);
}

TEST_F(OnnxCommand, RefusesByName) {
  expect_refused(step({"--loss", "los"}), {"los", "loss"});
  expect_refused(step({"--loss", "y/out"}), {"y/out", "scalar"});
  expect_refused(
      step({"--loss", "loss", "--freeze", "*"}),
      {"there is nothing to train: 'loss' depends on float32 initializers, but all 2 are "
       "frozen by MODEL.FREEZE or --freeze: free some"});
  expect_refused(step({"--loss", "loss", "--freeze", "nope"}), {"frozen", "'nope'"});
  expect_refused(step({"--loss", "loss", "--momentum", "2"}), {"momentum is 2", "below 1"});
  expect_refused(step({"--loss", "loss", "--devices", "cpu*3"}), {"batch of 4", "3 devices"});
  expect_refused(step({"--loss", "loss", "--devices", "tpu"}), {"tpu"});
  expect_refused(step({"--loss", "loss", "--seed", "-1"}), {"--seed", "-1", "not in range 0"});
}

TEST_F(OnnxCommand, FrozenParametersAreNotTakenForOtherTypes) {
  Graph graph(all_ops(), "net");
  const Value x = graph.input("x", {DType::float32, {"N", 2}});
  const Value w = graph.constant("w", floats({0.5F, -1}, {2, 1}));
  const Value exact = graph.constant("exact", Literal::scalar(0.5));
  const Value b = cast(graph, exact, DType::float32, "b");
  const Value y = add(graph, matmul(graph, x, w, "product"), b, "y");
  graph.output(reduce_mean(graph, y, {}, false, "loss"));
  TrainingModel model(all_ops());
  model.inference = std::move(graph);
  save_model(model, folder / "net.onnx");
  const Outcome outcome = step({"--loss", "loss", "--freeze", "w"});
  expect_refused(outcome, {"all 1 are frozen by MODEL.FREEZE or --freeze: free some"});
  EXPECT_EQ(outcome.err.find("float64"), std::string::npos) << outcome.err;
}

// The new parameters are not finite, so nothing is written.
TEST_F(OnnxCommand, StepRefusesWhatIsNoNumber) {
  for (const char* option : {"--lr", "--momentum", "--weight-decay"})
    for (const char* number : {"nan", "inf", "-1"})
      expect_refused(step({"--loss", "loss", option, number}), {option, number, "0 or more"});
  expect_refused(step({"--loss", "loss", "--lr", "3e38"}), {"after the step", "inf"});
  write_npy(folder / "in/x.npy", floats({1, 2, 3, INFINITY, -1, 0, 2, 2}, {4, 2}));
  expect_refused(step({"--loss", "loss"}), {"'x'", "inf", "[1,1]"});
  write_npy(folder / "in/x.npy", floats({}, {0, 2}));
  expect_refused(step({"--loss", "loss"}), {"the batch is empty"});
  expect_refused(step({"--loss", "loss", "--devices", "cpu*1000000000"}),
                 {"cpu*1000000000", "more than 4096 devices"});
  EXPECT_FALSE(fs::exists(folder / "out"));
}

// Terminals obey escape codes in names.
TEST_F(OnnxCommand, NamesArePrintedAsTheyCanBeSeen) {
  TrainingModel model(all_ops());
  model.inference.output(add(model.inference, model.inference.input("x", {DType::float32, {4, 2}}),
                             model.inference.constant("c\x1b[2J", floats({1, 2}, {2})),
                             "y\x1b]0;\"title\x07\nline"));
  save_model(model, folder / "net.onnx");
  std::vector<Outcome> outcomes{run_lockstep({"plan", folder / "net.onnx"}),
                                run_lockstep({"run", folder / "net.onnx", "--inputs", folder / "in",
                                              "--outputs", folder / "out"}),
                                step({"--loss", "\x1b[31mloss"})};
  for (const char* format : {"summary", "text", "order", "dot"})
    outcomes.push_back(run_lockstep({"inspect", folder / "net.onnx", "--format", format}));
  for (const Outcome& outcome : outcomes) {
    EXPECT_EQ((outcome.out + outcome.err).find('\x1b'), std::string::npos) << outcome.out;
    EXPECT_NE((outcome.out + outcome.err).find("\\x1b"), std::string::npos) << outcome.out;
    EXPECT_EQ(outcome.out.find("\nline"), std::string::npos) << outcome.out;
  }
  EXPECT_NE(outcomes.back().out.find("]0;\\\"title"), std::string::npos) << outcomes.back().out;
}

TEST_F(OnnxCommand, RefusesBadInputs) {
  auto expect = [&](const std::string& what, const std::vector<std::string>& parts) {
    SCOPED_TRACE(what);
    expect_refused(step({"--loss", "loss"}), parts);
  };
  write_npy(folder / "in/z.npy", floats({1}, {1}));
  expect("an input too many", {"z.npy", "no such input"});
  fs::remove(folder / "in/z.npy");

  write_npy(folder / "in/x.npy", floats({1, 2, 3}, {1, 3}));
  expect("wrong shape", {"x.npy", "float32[N,2]", "float32[1,3]"});
  write_npy(folder / "in/x.npy", Literal::of<int64_t>(std::vector<int64_t>{1, 2}, {1, 2}));
  expect("wrong type", {"x.npy", "int64[1,2]"});

  write_file(folder / "in/x.npy", "numbers");
  expect("garbage", {"x.npy", "not a .npy file"});
  write_npy(folder / "in/x.npy", floats({1, 2, 3, 4}, {2, 2}));
  std::string whole = read_file(folder / "in/x.npy");
  write_file(folder / "in/x.npy", whole.substr(0, whole.size() - 3));
  expect("truncated", {"x.npy", "truncated"});
  std::string column_major = whole;
  column_major.replace(column_major.find("False"), 5, "True ");
  write_file(folder / "in/x.npy", column_major);
  expect("column-major", {"x.npy", "column-major"});

  fs::remove(folder / "in/x.npy");
  expect("missing", {"lacks", "x float32[N,2]: x.npy"});
  fs::remove(folder / "in");
  expect("no folder", {"is not a folder"});
}

TEST(Npy, EveryTypeComesBackTheSame) {
  TemporaryFolder folder;
  for (const Literal& value :
       {floats({1.5F, -2}, {2, 1}), Literal::scalar(3.25), Literal::vector({1, -2, 3}),
        Literal::scalar(true), Literal::of<uint8_t>(std::vector<uint8_t>{7, 255}, {1, 2}),
        Literal::of<int32_t>(std::vector<int32_t>{}, {0, 3})}) {
    write_npy(folder / "a.npy", value);
    EXPECT_TRUE(read_npy(folder / "a.npy") == value) << text_of(value);
  }
}

}  // namespace
}  // namespace lockstep::testing
