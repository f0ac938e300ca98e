// SPDX-License-Identifier: Apache-2.0
// `lockstep train`, `test` and `infer` of a network on arrays. tests/arrays compares with PyTorch.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "app/record/metrics.h"
#include "data/npy.h"
#include "graph/file.h"
#include "lockstep/model_files.h"
#include "lockstep/operators.h"
#include "lockstep/random.h"
#include "tests/support/program.h"
#include "tests/support/temporary_folder.h"

namespace lockstep::testing {
namespace {

Literal noise(const Dims& dims, uint64_t stream) {
  PhiloxSequence random(1, stream);
  std::vector<float> values(static_cast<std::size_t>(element_count(dims)));
  for (float& value : values) value = static_cast<float>(random.normal());
  return Literal::of<float>(values, dims);
}

// out = tanh(x w1) w2 for x [batch, 3], out [batch, 2]. A fixed batch if `rows` is known.
void write_network(const std::string& path, const Dim& rows = Dim("batch")) {
  Graph graph(all_ops(), "net");
  const Value x = graph.input("x", {DType::float32, {rows, 3}});
  const Value hidden = tanh(graph, matmul(graph, x, graph.constant("w1", noise({3, 8}, 1))));
  graph.output(matmul(graph, hidden, graph.constant("w2", noise({8, 2}, 2)), "out"));
  TrainingModel model(all_ops());
  model.inference = std::move(graph);
  save_model(model, path);
}

class ArraysCommand : public ::testing::Test {
 protected:
  void SetUp() override {
    write_network(folder / "net.onnx");
    for (const char* part : {"train", "test"}) {
      const int64_t count = part[1] == 'r' ? 24 : 7;
      std::filesystem::create_directory(folder / part);
      const Literal x = noise({count, 3}, count);
      std::vector<float> y;
      for (int64_t i = 0; i < count; ++i)
        for (int k = 0; k < 2; ++k) y.push_back(x.values<float>()[3 * i + k] + 0.5F);
      write_npy(folder / (std::string(part) + "/x.npy"), x);
      write_npy(folder / (std::string(part) + "/y.npy"), Literal::of<float>(y, {count, 2}));
    }
    write_file(folder / "c.yaml",
               "MODEL: {ONNX: " + (folder / "net.onnx") + ", LOSS: {mse: [out, y]}}\n" +
                   "DATA: {NAME: arrays, TRAIN: " + (folder / "train") +
                   ", TEST: " + (folder / "test") + "}\n" +
                   "TRAIN: {BATCH_SIZE: 6, LOG_ITERS: 5}\nTHREADS: 1\n"
                   "SOLVER: {TYPE: Adam, BASE_LR: 0.02, WEIGHT_DECAY: 0, WARM_UP_ITERS: 0, "
                   "MAX_ITER: 60}\nOUTPUT_DIR: " +
                   (folder / "run") + "\n");
  }

  Outcome command(const std::string& name, std::vector<std::string> more = {}) {
    more.insert(more.begin(), {name, folder / "c.yaml"});
    return run_lockstep(more);
  }
  void expect_train_refused(const std::vector<std::string>& words,
                            const std::vector<std::string>& parts) {
    expect_refused(command("train", words), parts);
  }

  TemporaryFolder folder;
};

TEST_F(ArraysCommand, TrainsTestsAndPredicts) {
  const Outcome trained =
      command("train", {"TEST.METRICS", "{r2: [out, y], mean_error: [out, y]}"});
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  for (const char* line : {"held-out r2", "24 examples to train on, 7 to test on", "parameters 2"})
    EXPECT_NE(trained.out.find(line), std::string::npos) << line << " in " << trained.out;
  for (const char* file : {"model.onnx", "best.onnx", "report.html", "checkpoint.safetensors"})
    EXPECT_TRUE(std::filesystem::exists(folder / (std::string("run/") + file))) << file;

  const Outcome tested = command("test", {"--out", folder / "scores"});
  ASSERT_EQ(tested.exit_code, 0) << tested.err;
  EXPECT_NE(tested.out.find("held-out loss "), std::string::npos) << tested.out;
  EXPECT_NE(read_file(folder / "scores/scores.json").find("\"examples\": 7"), std::string::npos);

  const std::vector<std::string> sources{folder / "c.yaml", folder / "run/model.onnx",
                                         folder / "run"};
  std::string first;
  for (const std::string& source : sources) {
    const std::string out = folder / ("out" + std::to_string(first.size()));
    const Outcome predicted = run_lockstep({"infer", source, folder / "test", "--out", out});
    ASSERT_EQ(predicted.exit_code, 0) << predicted.err;
    EXPECT_NE(predicted.out.find("out.npy: float32[7,2]"), std::string::npos) << predicted.out;
    const std::string bytes = read_file(out + "/out.npy");
    if (first.empty()) first = bytes;
    EXPECT_EQ(bytes, first) << source;
    std::filesystem::remove_all(out);
  }
}

// The loss of a test does not depend on the division of the examples over replicas and processes.
TEST_F(ArraysCommand, TestsOnSeveralReplicasAndProcesses) {
  ASSERT_EQ(command("train", {"SOLVER.MAX_ITER", "10"}).exit_code, 0);
  const std::string weights = folder / "run/checkpoint.safetensors";
  const auto loss = [&](const Outcome& outcome) {
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    const std::size_t begin = outcome.out.find("held-out loss");  // behind the rank, if any
    return outcome.out.substr(begin, outcome.out.find(',', begin) - begin);
  };
  const std::string one = loss(command("test", {"--weights", weights}));
  EXPECT_EQ(loss(command("test", {"--weights", weights, "DEVICES", "cpu*3"})), one);
  EXPECT_EQ(loss(command("test", {"--weights", weights, "TRAIN.BATCH_SIZE", "2"})), one);
  EXPECT_EQ(loss(run_lockstep({"launch", "-n", "2", "--", run_path(), "test", folder / "c.yaml",
                               "--weights", weights})),
            one);
}

// Tests, weights of the best result and predictions use the averages.
TEST_F(ArraysCommand, TestsMovingAverages) {
  ASSERT_EQ(command("train", {"TRAIN.EMA", "0.9", "DEVICES", "cpu*2"}).exit_code, 0);
  const std::string weights = folder / "run/checkpoint.safetensors";
  const Outcome averages = command("test", {"--weights", weights, "TRAIN.EMA", "0.9"});
  const Outcome raw =
      command("test", {"--weights", weights, "TRAIN.EMA", "0.9", "TEST.AVERAGES", "false"});
  EXPECT_EQ(averages.exit_code, 0) << averages.err;
  EXPECT_EQ(raw.exit_code, 0) << raw.err;
  EXPECT_NE(averages.out, raw.out);
  const auto rows = read_metrics(folder / "run/metrics.jsonl");
  ASSERT_FALSE(rows.empty());
}

TEST_F(ArraysCommand, AFixedBatchNeedsItsShares) {
  write_network(folder / "net.onnx", 3);
  expect_train_refused(
      {}, {"takes 3 examples at a time", "TRAIN.BATCH_SIZE 6 gives 6", "set TRAIN.BATCH_SIZE 3"});
  const Outcome trained = command("train", {"DEVICES", "cpu*2", "SOLVER.MAX_ITER", "3"});
  EXPECT_EQ(trained.exit_code, 0) << trained.err;
  const Outcome tested = command("test", {"DEVICES", "cpu*2"});
  EXPECT_EQ(tested.exit_code, 0) << tested.err;
  for (const std::string& said : {trained.out, tested.out})
    EXPECT_NE(said.find("a test leaves out the last 1 of 7"), std::string::npos) << said;
}

TEST_F(ArraysCommand, RefusesBadConfigurationsByName) {
  expect_train_refused({"MODEL.ONNX", ""}, {"MODEL.ONNX names no network"});
  expect_train_refused({"DATA.TEST", ""}, {"DATA.TEST names no arrays to test on"});
  expect_train_refused({"MODEL.LOSS", "{mae: [out, y]}"}, {"MODEL.LOSS", "'mae' is not known"});
  expect_train_refused({"MODEL.LOSS", "outt"},
                       {"MODEL.LOSS", "no value 'outt'", "did you mean out"});
  expect_train_refused({"MODEL.LOSS", "{mse: [out, z]}"}, {"DATA.TRAIN", "z"});
  expect_train_refused({"MODEL.LOSS", "{cross_entropy: [out, y]}"},
                       {"train/y.npy", "'y' is float32", "asks for int64"});
  expect_train_refused({"TEST.METRICS", "{iou: [out]}"}, {"TEST.METRICS", "[OUTPUT, TARGET]"});
  expect_train_refused({"TEST.METRICS", "{r2: [nothing, y]}"}, {"no value 'nothing'"});
  expect_train_refused({"TRAIN.BATCH_SIZE", "25"}, {"TRAIN.BATCH_SIZE is 25", "24 examples"});
  expect_train_refused({"DATA.TRAIN", folder / "nowhere"}, {"DATA.TRAIN", "nowhere"});
  expect_train_refused({"DATA.PADDING", "{q: 1}"}, {"DATA.PADDING names 'q'", "x, y"});
  expect_train_refused({"DATA.BUCKETS", "[4, 2]"}, {"DATA.BUCKETS", "2 follows 4"});
  expect_train_refused({"DATA.WHOLE", "true"}, {"DATA.WHOLE needs TRAIN.BATCH_SIZE 1, is 6"});
  expect_train_refused({"MODEL.TYPE", "arrayz"}, {"did you mean arrays?"});
  expect_train_refused({"DATA.ROOT", "x"}, {"DATA.ROOT"});
}

// An array that only a metric needs may have a source and padding, and an output of another type is
// read as floats.
TEST_F(ArraysCommand, AMetricHasItsOwnArrays) {
  write_npy(folder / "test/z.npy", noise({7, 2}, 5));
  const Outcome trained = command("train", {"TEST.METRICS", "{mean_error: [out, w]}",
                                            "DATA.SOURCES", "{w: z}", "SOLVER.MAX_ITER", "2"});
  EXPECT_EQ(trained.exit_code, 0) << trained.err;
  expect_train_refused({"TEST.METRICS", "{mean_error: [out, out]}"},
                       {"TEST.METRICS", "'out' is computed by the network"});
}

TEST_F(ArraysCommand, RefusesArraysThatDoNotFit) {
  write_npy(folder / "train/x.npy", noise({24, 4}, 1));
  expect_train_refused({}, {"DATA.TRAIN", "x.npy", "[4]"});
  write_npy(folder / "train/x.npy", noise({23, 3}, 1));
  expect_train_refused({}, {"DATA.TRAIN", "23", "24"});
  write_npy(folder / "train/x.npy", noise({24, 3}, 1));
  write_npy(folder / "train/y.npy", noise({24, 3}, 1));
  expect_train_refused({}, {"the target 'y'", "does not fit the output 'out'"});
}

TEST_F(ArraysCommand, ABuildShowsTheStep) {
  const Outcome shown = command("inspect");
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_NE(shown.out.find("out"), std::string::npos);
  EXPECT_EQ(command("plan", {"--devices", "cpu*2"}).exit_code, 0);
}

// LOCKSTEP_UPDATE_GOLDEN=1 rewrites the page.
TEST_F(ArraysCommand, ThePageOfKeysIsComplete) {
  const std::string page = run_lockstep({"keys", "--task", "arrays", "--markdown"}).out;
  const std::string path = std::string(LOCKSTEP_SOURCE_DIR) + "/docs/arrays_keys.md";
  if (std::getenv("LOCKSTEP_UPDATE_GOLDEN")) write_file(path, page);
  EXPECT_EQ(read_file(path), page)
      << "`lockstep keys --task arrays --markdown > docs/arrays_keys.md`";
}

}  // namespace
}  // namespace lockstep::testing
