// SPDX-License-Identifier: Apache-2.0
// `lockstep train` gives the same run in a single process and over several, for each property of a
// network that affects the run. The command accepts networks with one loss and one input. Two
// losses and an integer input (except for labels) are only tested below the command:
// tests/builders/same_run_test.cc.
#include <gtest/gtest.h>

#include "graph/file.h"
#include "lockstep/model_files.h"
#include "lockstep/operators.h"
#include "lockstep/random.h"
#include "runtime/state/safetensors.h"
#include "tests/support/program.h"

namespace lockstep::testing {
namespace {

// A network as a file, written operator by operator.
class NetworkFile {
 public:
  NetworkFile() : graph(all_ops(), "network") {
    x_ = graph.input("pixels", {DType::float32, {"batch", 1, 28, 28}});
  }

  Value constant(const std::string& name, const Dims& dims, double deviation, float mean = 0) {
    PhiloxSequence random(1, stream_++);
    std::vector<float> values(static_cast<std::size_t>(element_count(dims)));
    for (float& value : values) value = mean + static_cast<float>(deviation * random.normal());
    return graph.constant(name, Literal::of<float>(values, dims));
  }
  void convolution() {
    x_ = graph.add_value({.type = "Conv",
                          .inputs = {x_, constant("conv.weight", {6, 1, 5, 5}, 0.2)},
                          .attributes = {{"strides", std::vector<int64_t>{3, 3}}}},
                         "conv");
  }
  void batch_norm() {
    x_ = graph
             .add({.type = "BatchNormalization",
                   .inputs = {x_, constant("bn.weight", {6}, 0, 1), constant("bn.bias", {6}, 0),
                              constant("bn.mean", {6}, 0), constant("bn.var", {6}, 0, 1)},
                   .attributes = {{"training_mode", int64_t{1}}},
                   .outputs = 3},
                  "bn")
             .outputs()[0];
  }
  void hidden() {
    x_ = relu(graph, x_, "relu");
    x_ = flatten(graph, x_, 1, "features");
    x_ = relu(graph,
              gemm(graph, x_, constant("fc1.weight", {384, 12}, 0.08),
                   constant("fc1.bias", {12}, 0), {}, "fc1"),
              "fc1_relu");
  }
  void dropout() {
    x_ = graph.add_value({.type = "Dropout",
                          .inputs = {x_, graph.constant("ratio", Literal::scalar(0.3F)),
                                     graph.constant("training", Literal::scalar(true))}},
                         "drop");
  }
  void shared_weight() {
    const Value w = constant("shared.weight", {12, 12}, 0.3);
    for (const char* name : {"first", "second"})
      x_ = relu(graph, gemm(graph, x_, w, none, {}, name), std::string(name) + "_relu");
  }
  void scores(bool with_nothing) {
    Value bias = constant("fc2.bias", {10}, 0);
    if (with_nothing) bias = concat(graph, {bias, constant("nothing", {0}, 0)}, 0, "whole_bias");
    x_ = add(graph, gemm(graph, x_, constant("fc2.weight", {12, 10}, 0.3), none, {}, "fc2"), bias,
             "scores");
  }
  void save(const std::string& path) {
    graph.output(x_);
    TrainingModel model(all_ops());
    model.inference = std::move(graph);
    save_model(model, path);
  }

  Graph graph;

 private:
  Value x_;
  uint64_t stream_ = 0;
};

struct Property {
  const char* name;
  void (*write)(NetworkFile& file);
  std::vector<std::string> settings = {};
  std::string lines = "";  // of the configuration
};

void write_plain(NetworkFile& file) {
  file.convolution();
  file.hidden();
  file.scores(false);
}
void write_batch_norm(NetworkFile& file) {
  file.convolution();
  file.batch_norm();
  file.hidden();
  file.scores(false);
}
const Property kProperties[] = {
    {"plain", write_plain},
    {"batch_norm", write_batch_norm},
    {"synchronised", write_batch_norm, {"TRAIN.SYNC_BATCH_NORM", "true"}},
    {"dropout",
     [](NetworkFile& file) {
       file.convolution();
       file.hidden();
       file.dropout();
       file.scores(false);
     }},
    {"frozen", write_batch_norm, {}, "MODEL: {FREEZE: [conv.*, bn.weight]}\n"},
    {"shared_weight",
     [](NetworkFile& file) {
       file.convolution();
       file.hidden();
       file.shared_weight();
       file.scores(false);
     }},
    {"size_zero",
     [](NetworkFile& file) {
       file.convolution();
       file.hidden();
       file.scores(true);
     }},
    {"unequal_shares", write_batch_norm, {"TRAIN.BATCH_SIZE", "19"}},
    {"float16", write_batch_norm, {"PRECISION", "float16"}},
    {"deferred", write_batch_norm, {"SOLVER.DEFERRED", "true", "TRAIN.MICRO_BATCHES", "2"}},
};

void PrintTo(const Property& property, std::ostream* out) { *out << property.name; }

class SameRunCommand : public ::testing::TestWithParam<Property> {
 protected:
  std::vector<std::string> train(const std::string& run, const std::vector<std::string>& more) {
    std::vector<std::string> words{"train",      folder / "config.yaml", "OUTPUT_DIR",
                                   folder / run, "MODEL.ONNX",           folder / "net.onnx"};
    words.insert(words.end(), GetParam().settings.begin(), GetParam().settings.end());
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  Outcome launch(const std::vector<std::string>& command) {
    std::vector<std::string> words{"launch", "-n", "2", "--", "lockstep"};
    words.insert(words.end(), command.begin(), command.end());
    return run_lockstep(words);
  }

  TemporaryFolder folder;
};

// Returns every printed "held-out accuracy .. %", in order.
std::vector<std::string> accuracies(const std::string& out) {
  std::vector<std::string> found;
  const std::string text = "held-out accuracy ";
  for (auto at = out.find(text); at != out.npos; at = out.find(text, at + 1)) {
    const auto from = at + text.size();
    found.push_back(out.substr(from, out.find(" %", from) - from));
  }
  return found;
}

TEST_P(SameRunCommand, OverTwoProcesses) {
  NetworkFile file;
  GetParam().write(file);
  file.save(folder / "net.onnx");
  write_file(folder / "config.yaml", std::string(R"(THREADS: 1
DATA: {NAME: digits, TRAIN_SIZE: 200, TEST_SIZE: 400}
TRAIN: {BATCH_SIZE: 16, SNAPSHOT_ITERS: 100, LOG_ITERS: 1}
TEST: {ITERS: 2}
SOLVER: {BASE_LR: 0.1, MAX_ITER: 6, STEP_SIZE: 4, WARM_UP_ITERS: 0}
)") + GetParam().lines);
  const Outcome one = run_lockstep(train("one", {"--devices", "cpu*2"}));
  ASSERT_EQ(one.exit_code, 0) << one.err;
  const Outcome half = launch(train("two", {"SOLVER.MAX_ITER", "3"}));
  ASSERT_EQ(half.exit_code, 0) << half.out;
  const Outcome rest = launch(train("two", {"--resume"}));
  ASSERT_EQ(rest.exit_code, 0) << rest.out;

  const auto expected = read_safetensors(folder / "one/checkpoint.safetensors").tensors;
  const auto found = read_safetensors(folder / "two/checkpoint.safetensors").tensors;
  ASSERT_EQ(found.size(), expected.size());
  for (const auto& [name, value] : expected) EXPECT_TRUE(found.at(name) == value) << name;
  // After 2, 4, 6 and at the end; the first half ends with its own test.
  std::vector<std::string> in_two = accuracies(half.out), after = accuracies(rest.out);
  ASSERT_GE(in_two.size(), 1u);
  after.insert(after.begin(), in_two[0]);
  EXPECT_EQ(after, accuracies(one.out));
}

INSTANTIATE_TEST_SUITE_P(Properties, SameRunCommand, ::testing::ValuesIn(kProperties),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace lockstep::testing
