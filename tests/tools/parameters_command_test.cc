// SPDX-License-Identifier: Apache-2.0
// The lines of `step`, `build`, `train` and `inspect --parameters` about the initializers of a
// network's file, and that constants stay as they are.
#include <gtest/gtest.h>

#include <filesystem>

#include "data/npy.h"
#include "graph/file.h"
#include "lockstep/model_files.h"
#include "lockstep/operators.h"
#include "lockstep/random.h"
#include "runtime/state/safetensors.h"
#include "tests/support/program.h"
#include "tests/support/temporary_folder.h"

namespace lockstep::testing {
namespace {

namespace fs = std::filesystem;

Literal filled(const Dims& dims, float value) {
  return Literal::of<float>(
      std::vector<float>(static_cast<std::size_t>(element_count(dims)), value), dims);
}
Literal noise(const Dims& dims, uint64_t stream) {
  PhiloxSequence random(1, stream);
  std::vector<float> values(static_cast<std::size_t>(element_count(dims)));
  for (float& value : values) value = static_cast<float>(0.3 * random.normal());
  return Literal::of<float>(values, dims);
}

// Scores of three classes for images [N, 3, 4, 4]: (x - px_mean) / px_std, a convolution, a batch
// norm with training_mode 0, a frequency table that a mean multiplies, a Dropout without training
// mode, a Gemm.
class ParametersCommand : public ::testing::Test {
 protected:
  void SetUp() override {
    Graph graph(all_ops(), "net");
    const Value data = graph.input("data", {DType::float32, {"N", 3, 4, 4}});
    const auto op = [&](const char* type, std::vector<Value> inputs, const char* name) {
      return graph.add_value({.type = type, .inputs = std::move(inputs)}, name);
    };
    Value x = op("Sub", {data, graph.constant("px_mean", filled({1, 3, 1, 1}, 0.485F))}, "centred");
    x = op("Div", {x, graph.constant("px_std", filled({1, 3, 1, 1}, 0.25F))}, "scaled");
    x = op("Conv", {x, graph.constant("conv.weight", noise({4, 3, 3, 3}, 1))}, "conv");
    x = op(
        "BatchNormalization",
        {x, graph.constant("bn.weight", filled({4}, 1)), graph.constant("bn.bias", filled({4}, 0)),
         graph.constant("bn.running_mean", filled({4}, 0)),
         graph.constant("bn.running_var", filled({4}, 1))},
        "bn_node");
    x = flatten(graph, global_average_pool(graph, x, "pooled"), 1, "features");
    const Literal table = Literal::of<float>(std::vector<float>{1, 0.5F, 0.25F, 0.125F}, {4});
    x = mul(graph, x, graph.constant("table", table), "turned");
    x = op("Dropout", {x}, "kept");
    const Value scores =
        gemm(graph, x, graph.constant("fc.weight", noise({3, 4}, 2)),
             graph.constant("fc.bias", filled({3}, 0)), {.trans_b = true}, "scores");
    graph.output(scores);
    TrainingModel model(all_ops());
    model.inference = graph.clone();
    save_model(model, folder / "net.onnx");
    graph.output(reduce_mean(graph, mul(graph, scores, scores, "square"), {}, false, "loss"));
    model.inference = std::move(graph);
    save_model(model, folder / "loss.onnx");
    fs::create_directories(folder / "in");
    write_npy(folder / "in/data.npy", noise({4, 3, 4, 4}, 3));
  }

  Outcome step(const std::vector<std::string>& more = {}) {
    fs::remove_all(folder / "out");
    std::vector<std::string> arguments{"step",      folder / "loss.onnx", "--inputs", folder / "in",
                                       "--outputs", folder / "out",       "--loss",   "loss"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_lockstep(arguments);
  }
  Outcome inspect(const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments{"inspect", folder / "net.onnx", "--parameters"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_lockstep(arguments);
  }
  Outcome train(const std::string& run, const std::vector<std::string>& more = {}) {
    write_file(folder / "config.yaml", R"(DEVICES: cpu*2
THREADS: 1
MODEL: {NUM_CLASSES: 3}
DATA: {NAME: synthetic, IMAGE_SIZE: 4, TRAIN_SIZE: 40, TEST_SIZE: 20, THREADS: 1}
TRAIN: {BATCH_SIZE: 8, SNAPSHOT_ITERS: 1000, LOG_ITERS: 10}
TEST: {ITERS: 1000}
SOLVER: {BASE_LR: 0.1, MAX_ITER: 6, STEP_SIZE: 1000, WARM_UP_ITERS: 0}
)");
    std::vector<std::string> arguments{"train",      folder / "config.yaml", "OUTPUT_DIR",
                                       folder / run, "MODEL.ONNX",           folder / "net.onnx"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_lockstep(arguments);
  }
  static void expect_says(const Outcome& outcome, const std::vector<std::string>& parts) {
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    for (const std::string& part : parts)
      EXPECT_NE(outcome.out.find(part), std::string::npos) << part << "\n" << outcome.out;
  }
  // The network of a run, by initializer.
  std::map<std::string, Literal> trained(const std::string& run) {
    const LoadedModel model = load_model(all_ops(), folder / run + "/model.onnx");
    std::map<std::string, Literal> values;
    for (const std::string& name : model.initializers)
      values.emplace(name, *model.model.inference.literal(model.model.inference.at(name)));
    return values;
  }
  TemporaryFolder folder;
};

const char* const kConstants =
    "kept constant 4: px_mean, px_std (normalises an input); bn.running_mean, bn.running_var "
    "(running statistics of a batch norm that stays fixed)";

TEST_F(ParametersCommand, StepAndBuildSayWhatIsTrained) {
  const std::vector<std::string> said{
      join("parameters 6 (135); ", kConstants),
      "trained, although perhaps constants: table (like frequencies, each a fraction of the last)",
      "--freeze PATTERN (MODEL.FREEZE)",
      "1 batch norm keeps its statistics (training_mode 0); --train-batch-norm "
      "(MODEL.TRAIN_BATCH_NORM)",
      "1 Dropout node has a ratio but no training mode, so that training drops nothing there"};
  for (const char* devices : {"cpu", "cpu*2"}) {
    expect_says(step({"--devices", devices}), said);
    EXPECT_FALSE(fs::exists(folder / "out/px_mean.npy"));
    EXPECT_TRUE(fs::exists(folder / "out/table.npy"));
  }
  expect_says(
      run_lockstep({"build", folder / "loss.onnx", "--loss", "loss", "-o", folder / "step.onnx"}),
      said);
}

TEST_F(ParametersCommand, FlagsChoose) {
  expect_says(step({"--freeze", "table"}),
              {"parameters 5 (131)", "table (named by MODEL.FREEZE or --freeze)"});
  EXPECT_FALSE(fs::exists(folder / "out/table.npy"));
  expect_says(step({"--train", "px_*"}), {"parameters 8 (141)"});
  EXPECT_TRUE(fs::exists(folder / "out/px_std.npy"));
  for (const char* flag :
       {"--train-batch-norm", "--train-batch-norm=*", "--train-batch-norm=bn_node"}) {
    const Outcome outcome = step({flag});
    expect_says(outcome, {"kept constant 2: px_mean", "2 running statistics"});
    EXPECT_EQ(outcome.out.find("training_mode 0"), std::string::npos) << flag << outcome.out;
    EXPECT_TRUE(fs::exists(folder / "out/bn.running_mean.npy")) << flag;
  }
  expect_refused(step({"--train-batch-norm=fc*"}), {"'fc*' matches no batch norm", "has 1 batch"});
  expect_refused(step({"--train", "bn.running_mean"}), {"names nothing that can be trained"});
}

// The same flags of commands with a configuration's keys.
TEST_F(ParametersCommand, InspectListsEveryInitializer) {
  const Outcome outcome = inspect();
  expect_says(outcome, {"px_mean          float32[1,3,1,1]  constant  normalises an input\n",
                        "conv.weight      float32[4,3,3,3]  trained   a float32 initializer\n",
                        "bn.running_mean  float32[4]        constant  running statistics",
                        "table            float32[4]        trained   cannot be decided: like",
                        join("parameters 6 (135); ", kConstants)});
  expect_says(inspect({"--freeze", "conv*", "--freeze", "fc.?ias", "--train", "px_mean",
                       "--train-batch-norm=bn*"}),
              {"px_mean          float32[1,3,1,1]  trained   named by MODEL.TRAIN or --train\n",
               "conv.weight      float32[4,3,3,3]  constant  named by MODEL.FREEZE or --freeze\n",
               "bn.running_mean  float32[4]        updated   running statistics, which each step",
               "fc.bias          float32[3]        constant  named by"});
  expect_says(inspect({"MODEL.FREEZE", "[conv*]", "--loss", "pooled"}),
              {"fc.weight        float32[3,4]      constant  the loss does not depend on it\n"});
  expect_refused(inspect({"--loss", "scroes"}), {"scroes"});
  expect_refused(inspect({"--freeze", "zzz"}), {"no parameter is called 'zzz'"});
  expect_refused(inspect({"--format", "text"}), {"--parameters"});
  expect_refused(run_lockstep({"inspect", "lenet", "--parameters"}), {"--parameters", "lenet"});
  expect_refused(run_lockstep({"inspect", folder / "net.onnx", "--loss", "scores"}), {"--loss"});
}

TEST_F(ParametersCommand, ConstantsKeepTheirBitsInARunAndAfterAResume) {
  const std::vector<std::string> settings{"MODEL.FREEZE", "[table]", "--train-batch-norm"};
  const Outcome whole = train("whole", settings);
  expect_says(whole, {"net.onnx on 2 x cpu", "parameters 5 (131); kept constant 3: px_mean"});
  auto half = settings;
  half.insert(half.end(), {"SOLVER.MAX_ITER", "3"});
  ASSERT_EQ(train("half", half).exit_code, 0);
  auto rest = settings;
  rest.insert(rest.end(), {"SOLVER.MAX_ITER", "6", "--resume"});
  expect_says(train("half", rest), {"parameters 5 (131)", "resumed after iteration 3"});
  EXPECT_EQ(trained("half"), trained("whole"));
  const auto values = trained("whole");
  EXPECT_EQ(values.at("px_mean"), filled({1, 3, 1, 1}, 0.485F));
  EXPECT_EQ(values.at("px_std"), filled({1, 3, 1, 1}, 0.25F));
  EXPECT_EQ(values.at("table").values<float>()[3], 0.125F);
  EXPECT_FALSE(values.at("conv.weight") == noise({4, 3, 3, 3}, 1));
  expect_refused(train("half", {"MODEL.FREEZE", "[table]", "--train-batch-norm", "MODEL.TRAIN",
                                "[px_mean]", "SOLVER.MAX_ITER", "9", "--resume"}),
                 {"another network, which lacks px_mean"});
}

TEST_F(ParametersCommand, ATrainedNetworkKeepsTheExportersKinds) {
  LoadedModel network = load_model(all_ops(), folder / "net.onnx");
  network.model.metadata["initializers.buffer"] = "table\nno_such_name";
  save_model(network.model, folder / "net.onnx");
  const std::string said = "table (a buffer, the exporter says)";
  expect_says(train("first"), {"parameters 5 (131)", said});
  expect_says(train("second", {"MODEL.ONNX", folder / "first/model.onnx"}),
              {"parameters 5 (131)", said});
  EXPECT_EQ(trained("second").at("table").values<float>()[3], 0.125F);
  EXPECT_FALSE(trained("second").at("fc.bias") == trained("first").at("fc.bias"));
}

TEST_F(ParametersCommand, ANewClassifierNeedsATrainedLayer) {
  const Outcome outcome = train("run", {"MODEL.NEW_CLASSIFIER", "true", "MODEL.NUM_CLASSES", "5"});
  expect_says(outcome, {"kept constant 4: px_mean, px_std (normalises an input)"});
  EXPECT_EQ(trained("run").at("px_mean"), filled({1, 3, 1, 1}, 0.485F));
  EXPECT_EQ(trained("run").at("fc.weight").dims(), (Dims{5, 4}));
  expect_refused(train("no", {"MODEL.NEW_CLASSIFIER", "true", "MODEL.FREEZE", "[fc.*]"}),
                 {"MODEL.NEW_CLASSIFIER: 'fc.bias' is a weight of the last layer, but stays "
                  "constant: named by MODEL.FREEZE"});
  expect_refused(train("no", {"MODEL.TRAIN", "[zzz]"}), {"MODEL.TRAIN", "'zzz'"});
  write_file(folder / "built_in.yaml", "MODEL: {TYPE: lenet, TRAIN: [conv1_w]}\n");
  expect_refused(run_lockstep({"build", folder / "built_in.yaml"}),
                 {"MODEL.TRAIN", "MODEL.ONNX", "lenet is built in"});
}

}  // namespace
}  // namespace lockstep::testing
