// SPDX-License-Identifier: Apache-2.0
// Networks in float64 and 16-bit floats, which training reads as float32.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "data/npy.h"
#include "lockstep/model_files.h"
#include "lockstep/operators.h"
#include "tests/support/program.h"
#include "tests/support/temporary_folder.h"

namespace lockstep::testing {
namespace {

namespace fs = std::filesystem;

Literal numbers_of(DType type, const std::vector<double>& values, const Dims& dims) {
  return Literal::rounded<double>(type, values, dims);
}

void save_network(Graph graph, const std::string& path) {
  TrainingModel model(all_ops());
  model.inference = std::move(graph);
  save_model(model, path);
}

// y = x w + b in one type, loss = mean(y * y * scale); `scale` may have another type.
Graph typed_net(DType type, DType of_scale) {
  Graph graph(all_ops(), "net");
  const Value x = graph.input("x", {type, {"N", 2}});
  const Value w = graph.constant("w", numbers_of(type, {0.5, -1}, {2, 1}));
  const Value b = graph.constant("b", numbers_of(type, {0.25}, {}));
  const Value scale = graph.constant("scale", numbers_of(of_scale, {1.5}, {}));
  const Value y = add(graph, matmul(graph, x, w, "product"), b, "y");
  const Value scaled = mul(graph, mul(graph, y, y, "square"), cast(graph, scale, type), "scaled");
  graph.output(reduce_mean(graph, scaled, {}, false, "loss"));
  return graph;
}

// y = half (x w) + b, loss = mean(y * y). The product is in `type`, with a weight in `type` and a
// Constant node; x and b are float32.
Graph mixed_net(DType type) {
  Graph graph(all_ops(), "net");
  const Value x = graph.input("x", {DType::float32, {"N", 2}});
  const Value w = graph.constant("w", numbers_of(type, {0.5, -1}, {2, 1}));
  const Value b = graph.constant("b", numbers_of(DType::float32, {0.25}, {}));
  const Value half = graph.add_value(
      {.type = "Constant", .attributes = {{"value", numbers_of(type, {0.5}, {})}}}, "half");
  const Value narrow = matmul(graph, cast(graph, x, type, "x_narrow"), w, "product");
  const Value wide = cast(graph, mul(graph, narrow, half, "halved"), DType::float32, "wide");
  const Value y = add(graph, wide, b, "y");
  graph.output(reduce_mean(graph, mul(graph, y, y, "square"), {}, false, "loss"));
  return graph;
}

class OtherFloatsCommand : public ::testing::Test {
 protected:
  OtherFloatsCommand() { fs::create_directories(folder / "in"); }

  void feed(DType type, const std::vector<double>& x = {1, 2, 3, 4, -1, 0, 2, 2}) {
    write_npy(folder / "in/x.npy", numbers_of(type, x, {4, 2}));
  }
  Outcome step(const std::string& devices = "cpu", const std::string& loss = "loss") {
    return run_lockstep({"step", folder / "net.onnx", "--inputs", folder / "in", "--outputs",
                         folder / "out", "--loss", loss, "--devices", devices});
  }
  std::vector<float> output(const std::string& name) {
    const Literal value = read_npy(folder / ("out/" + name + ".npy"));
    return {value.values<float>().begin(), value.values<float>().end()};
  }
  // The loss, and the gradient and the new value of every parameter.
  std::vector<float> results(const std::vector<std::string>& parameters) {
    std::vector<float> all = output("loss");
    for (const std::string& name : parameters)
      for (const std::string& file : {name + "_grad", name}) {
        const std::vector<float> values = output(file);
        all.insert(all.end(), values.begin(), values.end());
      }
    fs::remove_all(folder / "out");
    return all;
  }
  // Expects the results of the step, within a rounding, and the warning.
  void expect_step(const std::vector<float>& expected, const std::vector<std::string>& parameters,
                   const std::string& warning) {
    for (const char* devices : {"cpu", "cpu*2"}) {
      const Outcome outcome = step(devices);
      ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
      EXPECT_NE(outcome.err.find("net.onnx is a network " + warning +
                                 "; it is read as float32, in which parameters are trained"),
                std::string::npos)
          << outcome.err;
      const std::vector<float> found = results(parameters);
      ASSERT_EQ(expected.size(), found.size());
      for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_FLOAT_EQ(expected[i], found[i]) << i;
    }
  }
  TemporaryFolder folder;
};

TEST_F(OtherFloatsCommand, ANetworkInAnotherTypeIsTrainedInFloat32) {
  const std::vector<std::string> parameters{"w", "b", "scale"};
  save_network(typed_net(DType::float32, DType::float32), folder / "net.onnx");
  feed(DType::float32);
  ASSERT_EQ(step().exit_code, 0);
  const std::vector<float> expected = results(parameters);
  for (const DType type : {DType::float64, DType::float16}) {
    save_network(typed_net(type, type), folder / "net.onnx");
    feed(type);
    expect_step(expected, parameters, join("in ", type));
    // The file's inputs keep their type.
    feed(DType::float32);
    expect_refused(step(), {join("input 'x' is ", type), "the file contains float32"});
    EXPECT_FALSE(fs::exists(folder / "out"));
  }
  save_network(typed_net(DType::float64, DType::float16), folder / "net.onnx");
  feed(DType::float64);
  expect_step(expected, parameters, "in float16 and float64");
}

TEST_F(OtherFloatsCommand, ANetworkInBfloat16IsTrainedInFloat32) {
  save_network(typed_net(DType::bfloat16, DType::bfloat16), folder / "net.onnx");
  const Outcome built =
      run_lockstep({"build", folder / "net.onnx", "--loss", "loss", "-o", folder / "step.onnx"});
  ASSERT_EQ(built.exit_code, 0) << built.err;
  EXPECT_NE(built.err.find("net.onnx is a network in bfloat16; it is read as float32"),
            std::string::npos)
      << built.err;
  const LoadedModel made = load_model(all_ops(), folder / "step.onnx");
  EXPECT_EQ(made.model.gradients.size(), 3u);
}

// Otherwise a step would train the parameters of float32 alone, without a word.
TEST_F(OtherFloatsCommand, PartsIn16BitsAreTrainedInFloat32) {
  save_network(mixed_net(DType::float32), folder / "net.onnx");
  feed(DType::float32);
  ASSERT_EQ(step().exit_code, 0);
  const std::vector<float> expected = results({"w", "b"});
  for (const DType type : {DType::float16, DType::bfloat16}) {
    save_network(mixed_net(type), folder / "net.onnx");
    expect_step(expected, {"w", "b"}, join("partly in ", type));
  }
}

TEST_F(OtherFloatsCommand, NumbersBeyondFloat16OverflowOnlyWhereTheFileRuns) {
  save_network(typed_net(DType::float16, DType::float16), folder / "net.onnx");
  feed(DType::float16, {600, 0, 3, 4, -1, 0, 2, 2});
  const Outcome run = run_lockstep(
      {"run", folder / "net.onnx", "--inputs", folder / "in", "--outputs", folder / "ran"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_TRUE(std::isinf(static_cast<float>(read_npy(folder / "ran/loss.npy").values<Half>()[0])));
  ASSERT_EQ(step().exit_code, 0);
  EXPECT_NEAR(output("loss")[0], 1.5 * (300.25 * 300.25 + 2.25 * 2.25 + 0.0625 + 0.5625) / 4, 0.1);
}

// A float64 number beside parameters of float32 stays a constant.
TEST_F(OtherFloatsCommand, ParametersOfFloat64BesideFloat32AreNamedWithTheRemedy) {
  Graph graph = typed_net(DType::float64, DType::float64);
  const Value apart = graph.constant("apart", numbers_of(DType::float32, {1, 2}, {2}));
  graph.output(add(graph, apart, apart, "twice"));
  graph.output(cast(graph, graph.at("loss"), DType::float32, "rounded"));
  save_network(std::move(graph), folder / "net.onnx");
  feed(DType::float64);
  expect_refused(step("cpu", "rounded"),
                 {"'rounded' depends on no float32 initializer, but there are others: 3 of "
                  "float64; parameters are trained in float32: export the network in "
                  "float32 (PyTorch: model.float())"});
  EXPECT_FALSE(fs::exists(folder / "out"));
}

}  // namespace
}  // namespace lockstep::testing
