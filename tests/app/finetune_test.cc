// SPDX-License-Identifier: Apache-2.0
// `lockstep train` with files of users: an ONNX network, pictures in folders, weights.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "app/record/metrics.h"
#include "graph/file.h"
#include "lockstep/layers.h"
#include "lockstep/model_files.h"
#include "lockstep/models.h"
#include "lockstep/operators.h"
#include "lockstep/random.h"
#include "runtime/state/safetensors.h"
#include "tests/support/pictures.h"
#include "tests/support/program.h"
#include "tests/support/temporary_folder.h"

namespace lockstep::testing {
namespace {

namespace fs = std::filesystem;

Literal noise(const Dims& dims, uint64_t stream, double deviation) {
  PhiloxSequence random(1, stream);
  std::vector<float> values(static_cast<std::size_t>(element_count(dims)));
  for (float& value : values) value = static_cast<float>(deviation * random.normal());
  return Literal::of<float>(values, dims);
}

// Five classes: a convolution, batch normalisation, ReLU, mean, Gemm, softmax. Exporters write the
// batch normalisation in training mode or with given statistics, regardless of its mode in
// training.
void write_network(const std::string& path, bool trains = true) {
  Graph graph(all_ops(), "brought");
  auto vector = [&](const char* name, float value) {
    return graph.constant(name, Literal::of<float>(std::vector<float>(8, value), {8}));
  };
  Value x = graph.input("pixels", {DType::float32, {"batch", 3, "H", "W"}});
  Value y = graph.add_value(
      {.type = "Conv", .inputs = {x, graph.constant("conv.weight", noise({8, 3, 3, 3}, 1, 0.2))}},
      "conv");
  y = graph
          .add({.type = "BatchNormalization",
                .inputs = {y, vector("bn.weight", 1), vector("bn.bias", 0), vector("bn.mean", 0),
                           vector("bn.var", 1)},
                .attributes = {{"training_mode", int64_t{trains}}},
                .outputs = trains ? 3 : 1},
               "bn")
          .outputs()[0];
  y = graph.add_value({.type = "Relu", .inputs = {y}}, "relu");
  y = flatten(graph, global_average_pool(graph, y, "mean"), 1, "features");
  Value w = graph.constant("fc.weight", noise({5, 8}, 2, 0.3));
  Value b = graph.constant("fc.bias", noise({5}, 3, 0.1));
  Value scores = gemm(graph, y, w, b, {.trans_b = true}, "scores");
  graph.output(softmax(graph, scores, -1, "probabilities"));
  TrainingModel model(all_ops());
  model.inference = std::move(graph);
  save_model(model, path);
}

class FineTune : public ::testing::Test {
 protected:
  void SetUp() override {
    write_network(folder / "net.onnx");
    for (const char* part : {"train", "val"})
      for (int c = 0; c < 3; ++c) {
        const std::string place =
            folder / (std::string("pictures/") + part + "/kind" + std::to_string(c));
        fs::create_directories(place);
        for (int i = 0; i < 6; ++i)
          write_png(place + "/" + std::to_string(i) + ".png", gradient_image(24 + i, 28, 2 * c));
      }
  }

  Outcome train(const std::string& run, std::vector<std::string> more = {}) {
    write_file(folder / "config.yaml", R"(DEVICES: cpu*2
THREADS: 1
MODEL: {NUM_CLASSES: 3}
DATA: {NAME: image_folder, IMAGE_SIZE: 20, RESIZE: 22, THREADS: 2}
TRAIN: {BATCH_SIZE: 8, SNAPSHOT_ITERS: 1000, LOG_ITERS: 10}
TEST: {ITERS: 1000}
SOLVER: {BASE_LR: 0.2, MAX_ITER: 60, STEP_SIZE: 40, WARM_UP_ITERS: 0}
)");
    std::vector<std::string> arguments{"train",      folder / "config.yaml",
                                       "OUTPUT_DIR", folder / run,
                                       "DATA.ROOT",  folder / "pictures"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_lockstep(arguments);
  }
  std::vector<std::string> network() {
    return {"MODEL.ONNX", folder / "net.onnx", "MODEL.NEW_CLASSIFIER", "true"};
  }
  TemporaryFolder folder;
};

TEST_F(FineTune, ANetworkFromAFileLearnsPicturesFromAFolder) {
  Outcome outcome = train("run", network());
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("net.onnx on 2 x cpu"), std::string::npos) << outcome.out;
  double accuracy = 0;
  for (const MetricRow& row : read_metrics(folder / "run/metrics.jsonl"))
    if (std::isfinite(value_of(row, "test_accuracy"))) accuracy = value_of(row, "test_accuracy");
  EXPECT_GE(accuracy, 0.9);
  const std::string report = read_file(folder / "run/report.html");
  EXPECT_NE(report.find("kind2"), std::string::npos) << "classes have the names of their folders";
  auto saved = read_safetensors(folder / "run/checkpoint.safetensors");
  EXPECT_EQ(saved.tensors.at("fc.weight").dims(), (Dims{3, 8}));
  EXPECT_TRUE(saved.tensors.count("bn.mean")) << "running statistics are state";
  EXPECT_TRUE(saved.tensors.count("bn.mean@1")) << "of each replica";
}

TEST_F(FineTune, TwoRunsGiveTheSameBitsWhateverTheReadingThreads) {
  auto more = network();
  ASSERT_EQ(train("one", more).exit_code, 0);
  more.insert(more.end(), {"DATA.THREADS", "5"});
  ASSERT_EQ(train("two", more).exit_code, 0);
  EXPECT_EQ(read_safetensors(folder / "one/checkpoint.safetensors").tensors,
            read_safetensors(folder / "two/checkpoint.safetensors").tensors);
}

TEST_F(FineTune, BatchNormTrainsWhereItIsAskedTo) {
  ASSERT_EQ(train("trains", network()).exit_code, 0);
  write_network(folder / "net.onnx", false);
  ASSERT_EQ(train("given", network()).exit_code, 0);
  auto asked = network();
  asked.insert(asked.end(), {"MODEL.TRAIN_BATCH_NORM", "true"});
  ASSERT_EQ(train("asked", asked).exit_code, 0);

  const auto of = [&](const char* run) {
    return read_safetensors(folder / run + "/checkpoint.safetensors").tensors;
  };
  EXPECT_EQ(of("trains"), of("asked")) << "equal bits for both exporters";
  EXPECT_FALSE(of("given").count("bn.mean")) << "given statistics are constants";
  Outcome refused = train("asked", {"MODEL.ONNX", folder / "net.onnx", "MODEL.NEW_CLASSIFIER",
                                    "true", "--resume", "SOLVER.MAX_ITER", "70"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_NE(refused.err.find("MODEL.TRAIN_BATCH_NORM"), std::string::npos) << refused.err;
}

TEST_F(FineTune, FrozenLayersStayAsTheyCame) {
  auto more = network();
  more.insert(more.end(), {"MODEL.FREEZE", "[conv.*, bn.*]"});
  ASSERT_EQ(train("run", more).exit_code, 0);
  auto saved = read_safetensors(folder / "run/checkpoint.safetensors");
  EXPECT_FALSE(saved.tensors.count("conv.weight"));
  EXPECT_TRUE(saved.tensors.count("fc.weight"));
}

TEST_F(FineTune, WeightsComeByNameWithAReport) {
  ASSERT_EQ(train("first", network()).exit_code, 0);
  const std::string weights = folder / "first/checkpoint.safetensors";
  auto more = network();
  more.insert(more.end(),
              {"MODEL.WEIGHTS", weights, "SOLVER.BASE_LR", "0", "SOLVER.MAX_ITER", "1"});
  Outcome outcome = train("second", more);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("weights: 7 of 7 tensors"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("not in the network"), std::string::npos)
      << "momentum: " << outcome.out;
  // Rate 0: the saved values equal the loaded values.
  EXPECT_TRUE(read_safetensors(weights).tensors.at("conv.weight") ==
              read_safetensors(folder / "second/checkpoint.safetensors").tensors.at("conv.weight"));
}

// Deferred gradients and the loss scale belong to the way a run trains. They are not loaded.
TEST_F(FineTune, OnlyParametersAndStatisticsCountAsMissing) {
  ASSERT_EQ(train("first", network()).exit_code, 0);
  auto more = network();
  more.insert(more.end(),
              {"MODEL.WEIGHTS", folder / "first/checkpoint.safetensors", "SOLVER.DEFERRED", "true",
               "PRECISION", "float16", "SOLVER.MAX_ITER", "1"});
  Outcome outcome = train("second", more);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("weights: 7 of 7 tensors"), std::string::npos) << outcome.out;
  EXPECT_EQ(outcome.out.find("not in the file"), std::string::npos) << outcome.out;
  // In the other direction the file has them and they are ignored: training starts afresh.
  const std::string deferred = folder / "second/checkpoint.safetensors";
  more = network();
  more.insert(more.end(), {"MODEL.WEIGHTS", deferred, "SOLVER.DEFERRED", "true", "PRECISION",
                           "float16", "SOLVER.BASE_LR", "0", "SOLVER.MAX_ITER", "1"});
  outcome = train("third", more);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("weights: 7 of 7 tensors"), std::string::npos) << outcome.out;
}

TEST_F(FineTune, AnotherNumberOfClassesMustBeAskedFor) {
  expect_refused(train("run", {"MODEL.ONNX", folder / "net.onnx"}),
                 {"5 classes", "MODEL.NUM_CLASSES is 3", "MODEL.NEW_CLASSIFIER"});
  Literal wide = noise({7, 8}, 5, 1);
  Literal conv = noise({8, 3, 3, 3}, 6, 1);
  write_safetensors(folder / "w.safetensors",
                    {{"fc.weight", view_of(wide)}, {"conv.weight", view_of(conv)}}, {});
  auto more = network();
  more.insert(more.end(), {"MODEL.WEIGHTS", folder / "w.safetensors", "SOLVER.MAX_ITER", "1"});
  Outcome outcome = train("run", more);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("1 new, for 3 classes: fc.weight"), std::string::npos) << outcome.out;
}

TEST_F(FineTune, BadWeightsAreNamed) {
  Literal wrong = noise({8, 3, 5, 5}, 6, 1);
  write_safetensors(folder / "w.safetensors", {{"conv.weight", view_of(wrong)}}, {});
  auto more = network();
  more.insert(more.end(), {"MODEL.WEIGHTS", folder / "w.safetensors"});
  expect_refused(train("run", more), {"w.safetensors", "conv.weight", "[8,3,3,3]", "[8,3,5,5]"});
  write_safetensors(folder / "w.safetensors", {{"other", view_of(wrong)}}, {});
  expect_refused(train("run", more), {"contains no tensor of the model"});
  write_file(folder / "w.safetensors", "text");
  expect_refused(train("run", more), {"w.safetensors"});
  Literal broken = noise({8, 3, 3, 3}, 6, 1);
  reinterpret_cast<float*>(broken.bytes().data())[10] = NAN;
  write_safetensors(folder / "w.safetensors", {{"conv.weight", view_of(broken)}}, {});
  expect_refused(train("run", more), {"w.safetensors: 'conv.weight' holds nan at [0,1,0,1]"});
}

TEST_F(FineTune, BadPicturesAndConfigurationsAreNamed) {
  expect_refused(train("run", {"DATA.CROP_SCALE", "[0.5, 0.2]"}), {"DATA.CROP_SCALE"});
  expect_refused(train("run", {"MODEL.TYPE", "resnet18", "MODEL.FREEZE", "[conv]"}),
                 {"no parameter is called 'conv'"});
  expect_refused(train("run", {"MODEL.ONNX", folder / "none.onnx"}), {"none.onnx"});
  auto digits = network();
  digits.insert(digits.end(), {"DATA.NAME", "digits"});
  expect_refused(train("run", digits), {"float32[batch,3,H,W]", "float32[N,1,28,28]"});
  write_file(folder / "pictures/train/kind1/3.png", "no picture");
  expect_refused(train("run", network()), {"kind1/3.png", "not a JPEG, PNG, WebP or BMP file"});
}

}  // namespace
}  // namespace lockstep::testing
