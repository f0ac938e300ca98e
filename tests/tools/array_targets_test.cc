// SPDX-License-Identifier: Apache-2.0
// Targets and masks of `lockstep train` on arrays, in every type that files have.
#include <gtest/gtest.h>

#include <cmath>
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

constexpr int64_t kExamples = 12;

// scores = x w, shares = softmax(scores), for x [batch, 3].
void write_classifier(const std::string& path) {
  Graph graph(all_ops(), "net");
  const Value x = graph.input("x", {DType::float32, {Dim("batch"), 3}});
  const Value w = graph.constant(
      "w", Literal::of<float>(std::vector<float>{1, 0, 0, 0, 1, 0, 0, 0, 1}, {3, 3}));
  const Value scores = matmul(graph, x, w, "scores");
  graph.output(scores);
  graph.output(softmax(graph, scores, 1, "shares"));
  TrainingModel model(all_ops());
  model.inference = std::move(graph);
  save_model(model, path);
}

template <class T>
void write_array(const std::string& path, const std::vector<int>& values, const Dims& dims) {
  std::vector<T> elements;
  for (const int value : values) elements.push_back(static_cast<T>(static_cast<float>(value)));
  write_npy(path, Literal::of<T>(elements, dims));
}

class ArrayTargets : public ::testing::Test {
 protected:
  void SetUp() override {
    write_classifier(folder / "net.onnx");
    write_file(folder / "c.yaml",
               "MODEL: {ONNX: " + (folder / "net.onnx") + "}\nDATA: {NAME: arrays, TRAIN: " +
                   (folder / "data") + ", TEST: " + (folder / "data") +
                   "}\nDEVICES: cpu*2\nTHREADS: 1\nTRAIN: {BATCH_SIZE: 5, MICRO_BATCHES: 2}\n"
                   "SOLVER: {MAX_ITER: 3, WARM_UP_ITERS: 0}\n");
    std::filesystem::create_directory(folder / "data");
    PhiloxSequence random(3, 1);
    std::vector<float> x(3 * kExamples);
    for (float& value : x) value = static_cast<float>(random.normal());
    write_npy(folder / "data/x.npy", Literal::of<float>(x, {kExamples, 3}));
    for (int64_t i = 0; i < kExamples; ++i) {
      labels.push_back(static_cast<int>(i % 3));
      known.push_back(i % 4 != 0);
    }
  }
  template <class T>
  void write_targets() {
    write_array<T>(folder / "data/label.npy", labels, {kExamples});
    write_array<T>(folder / "data/known.npy", known, {kExamples});
  }
  Outcome command(std::vector<std::string> more) {
    more.insert(more.begin(), {"train", folder / "c.yaml"});
    return run_lockstep(more);
  }
  // The numbers of the last row of metrics.jsonl.
  std::vector<double> tested(const std::string& loss, const std::string& metrics,
                             const std::vector<std::string>& names) {
    const std::string run = folder / ("run" + std::to_string(runs++));
    const Outcome outcome =
        command({"MODEL.LOSS", loss, "TEST.METRICS", metrics, "OUTPUT_DIR", run});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    std::vector<double> numbers;
    const auto rows = read_metrics(run + "/metrics.jsonl");
    for (const std::string& name : names)
      numbers.push_back(rows.empty() ? NAN : value_of(rows.back(), name));
    return numbers;
  }

  TemporaryFolder folder;
  std::vector<int> labels, known;
  int runs = 0;
};

TEST_F(ArrayTargets, OfEveryTypeMeanTheSame) {
  const auto result = [&] {
    return tested("{cross_entropy: {of: scores, to: label, mask: known}}",
                  "{accuracy: {of: scores, to: label, mask: known}}",
                  {"test_loss", "test_accuracy"});
  };
  write_targets<int64_t>();
  const std::vector<double> expected = result();
  ASSERT_TRUE(std::isfinite(expected[0]));
  write_targets<int32_t>();
  EXPECT_EQ(result(), expected);
  write_targets<int16_t>();
  EXPECT_EQ(result(), expected);
  write_targets<int8_t>();
  EXPECT_EQ(result(), expected);
  write_targets<uint8_t>();
  EXPECT_EQ(result(), expected);
  write_targets<uint16_t>();
  EXPECT_EQ(result(), expected);
  write_targets<uint32_t>();
  EXPECT_EQ(result(), expected);
  write_targets<uint64_t>();
  EXPECT_EQ(result(), expected);
}

TEST_F(ArrayTargets, OfNumbersHaveEveryType) {
  labels.resize(3 * kExamples, 1);
  const auto result = [&] {
    return tested("{mse: [shares, price]}", "{root_mean_square: [shares, price]}",
                  {"test_loss", "test_root_mean_square"});
  };
  write_array<float>(folder / "data/price.npy", labels, {kExamples, 3});
  const std::vector<double> expected = result();
  EXPECT_NEAR(std::sqrt(expected[0]), expected[1], 1e-6);
  write_array<double>(folder / "data/price.npy", labels, {kExamples, 3});
  EXPECT_EQ(result(), expected);
  write_array<Half>(folder / "data/price.npy", labels, {kExamples, 3});
  EXPECT_EQ(result(), expected);
  write_array<uint16_t>(folder / "data/price.npy", labels, {kExamples, 3});
  EXPECT_EQ(result(), expected);
}

// Perplexity reads scores, so that a second Softmax is not applied to shares.
TEST_F(ArrayTargets, PerplexityOfASoftmaxFollowsFromTheLoss) {
  write_targets<int64_t>();
  const std::vector<double> numbers =
      tested("{cross_entropy: [shares, label]}", "{perplexity: [shares, label]}",
             {"test_loss", "test_perplexity"});
  EXPECT_NEAR(std::log(numbers[1]), numbers[0], 1e-6);
}

TEST_F(ArrayTargets, LabelsWithFractionsAreRefused) {
  write_array<float>(folder / "data/label.npy", labels, {kExamples});
  expect_refused(
      command({"MODEL.LOSS", "{cross_entropy: [scores, label]}", "OUTPUT_DIR", folder / "run"}),
      {"label.npy", "float32", "int64"});
}

}  // namespace
}  // namespace lockstep::testing
