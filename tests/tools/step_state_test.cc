// SPDX-License-Identifier: Apache-2.0
// `lockstep step --state`: three steps and three more have the bits of six.
#include "runtime/state/safetensors.h"
#include "tests/tools/step_command.h"

namespace lockstep::testing {
namespace {

namespace fs = std::filesystem;

class StepState : public StepCommand {
 protected:
  std::vector<std::string> words(const std::string& name, const std::string& steps,
                                 const std::vector<std::string>& more) const {
    std::vector<std::string> all{"--outputs", folder / name,
                                 "--state",   folder / (name + ".safetensors"),
                                 "-o",        folder / (name + ".onnx"),
                                 "--steps",   steps};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  // Expects equal bits of six steps and of three and three, in every file.
  void expect_no_break(const std::vector<std::string>& more) const {
    SCOPED_TRACE(more.empty() ? "plain" : more[0] + " " + more[1]);
    run(words("six", "6", more));
    EXPECT_EQ(run(words("parts", "3", more)).find("continues"), std::string::npos);
    std::vector<float> parts = losses("parts");
    const std::string said = run(words("parts", "3", more));
    EXPECT_NE(said.find("parts.safetensors: continues after 3 steps\n"), std::string::npos) << said;
    EXPECT_NE(said.find("step 4: loss = "), std::string::npos) << said;
    for (float loss : losses("parts")) parts.push_back(loss);
    EXPECT_EQ(parts, losses("six"));
    auto written = files("parts"), expected = files("six");
    written.erase("loss.npy");
    expected.erase("loss.npy");
    EXPECT_EQ(written, expected);
    for (const char* end : {".onnx", ".safetensors"})
      EXPECT_EQ(read_file(folder / (std::string("parts") + end)),
                read_file(folder / (std::string("six") + end)))
          << end;
    for (const char* name : {"six", "parts"}) {
      fs::remove_all(folder / name);
      fs::remove(folder / (std::string(name) + ".safetensors"));
    }
  }
};

TEST_F(StepState, ContinuesEveryOptimiser) {
  expect_no_break({});
  for (const char* type : {"Nesterov", "Adam", "AdamW", "LAMB", "Lion", "RMSProp", "CentredRMSProp",
                           "Adagrad", "LARS"})
    expect_no_break({"SOLVER.TYPE", type, "SOLVER.BASE_LR", "0.01", "--batch", "4"});
}

TEST_F(StepState, ContinuesOnReplicasInBfloat16WithDropout) {
  save_network(0.25F);
  const std::vector<std::string> adam{"SOLVER.TYPE", "Adam", "--batch", "8", "--devices", "cpu*2"};
  const auto with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> all = adam;
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  expect_no_break(with({"PRECISION", "bfloat16"}));
  expect_no_break(with({"PRECISION", "float16"}));
  expect_no_break(with({"TRAIN.MICRO_BATCHES", "2", "TRAIN.EMA", "0.9"}));
  expect_no_break(with({"SOLVER.DEFERRED", "true"}));
  expect_no_break(with({"WIRE", "bfloat16", "ALL_REDUCE", "xring"}));
}

TEST_F(StepState, ContinuesSchedules) {
  expect_no_break({"SOLVER.LR_POLICY", "cosine_decay", "SOLVER.MAX_ITER", "6"});
  expect_no_break({"SOLVER.WARM_UP_ITERS", "5", "SOLVER.MOMENTUM", "0.5"});
  expect_no_break({"SOLVER.STEP_SIZE", "2", "SOLVER.GAMMA", "0.5"});
  // The last call would pass the end of the schedule.
  run(words("run", "3", {"SOLVER.MAX_ITER", "5"}));
  expect_step_refused(words("run", "3", {"SOLVER.MAX_ITER", "5"}),
                      {"SOLVER.MAX_ITER is 5", "--steps 3 after 3 steps", "end with step 6"});
}

// Running statistics are per replica, and in the state.
TEST_F(StepState, ContinuesBatchNorms) {
  Graph graph(all_ops(), "net");
  const Value in = graph.input("x", {DType::float32, {"N", 3}});
  const auto fill = [&](const char* name, float value) {
    return graph.constant(name, Literal::of<float>(std::vector<float>(3, value), {3}));
  };
  const Value normal = graph.add_value(
      {.type = "BatchNormalization",
       .inputs = {in, fill("scale", 1), fill("shift", 0), fill("mean", 0), fill("variance", 1)}},
      "normal");
  const Value out = matmul(graph, normal, graph.constant("w", noise({3, 2}, 1)), "out");
  const Value error = sub(graph, out, graph.input("y", {DType::float32, {"N", 2}}), "error");
  graph.output(reduce_mean(graph, mul(graph, error, error, "square"), {}, false, "loss"));
  TrainingModel model(all_ops());
  model.inference = std::move(graph);
  save_model(model, folder / "net.onnx");
  expect_no_break({"--batch", "6", "--train-batch-norm", "--devices", "cpu*2"});
  run({"--train-batch-norm", "-o", folder / "new.onnx", "--outputs", folder / "out"});
  const LoadedModel written = load_model(all_ops(), folder / "new.onnx");
  const Graph& inference = written.model.inference;
  EXPECT_TRUE(*inference.literal(inference.at("mean")) == read_npy(folder / "out/mean.npy"));
}

// A network in float64 is trained in float32. The state has all bits of the parameters.
TEST_F(StepState, KeepsTheTypesOfTheFile) {
  for (DType type : {DType::float64, DType::bfloat16}) {
    Graph graph(all_ops(), "net");
    const Value in = graph.input("x", {type, {"N", 2}});
    const Value w = graph.constant("w", Literal::rounded<double>(type, {{0.5, -1}}, {2, 1}));
    const Value out = matmul(graph, in, w, "out");
    graph.output(reduce_mean(graph, mul(graph, out, out, "square"), {}, false, "loss"));
    TrainingModel model(all_ops());
    model.inference = std::move(graph);
    save_model(model, folder / "net.onnx");
    const std::vector<float> numbers{1, 2, 3, 4, -1, 0};
    fs::remove_all(folder / "in");
    fs::create_directory(folder / "in");
    write_npy(folder / "in/x.npy", Literal::of<float>(numbers, {3, 2}));
    expect_no_break({"--batch", "3"});
    run({"-o", folder / "new.onnx", "--outputs", folder / "out", "--batch", "3"});
    const LoadedModel written = load_model(all_ops(), folder / "new.onnx");
    const Literal value = *written.model.inference.literal(written.model.inference.at("w"));
    const Literal exact = read_npy(folder / "out/w.npy");
    EXPECT_TRUE(value == Literal::rounded<float>(type, exact.values<float>(), {2, 1}));
  }
}

TEST_F(StepState, SaysWhichSettingsChangeBits) {
  run(words("run", "2", {"--lr", "0.1"}));
  const std::string said = run(words("run", "2", {"--lr", "0.2", "--batch", "6"}));
  EXPECT_NE(said.find("continues after 2 steps with SOLVER.BASE_LR 0.2 instead of 0.1"),
            std::string::npos)
      << said;
  EXPECT_NE(said.find("the rows of a step 6 instead of 12"), std::string::npos) << said;
  EXPECT_NE(said.find(": bits may differ"), std::string::npos) << said;
  EXPECT_EQ(read_safetensors(folder / "run.safetensors").metadata.at("steps"), "4");
}

TEST_F(StepState, OfOtherSettingsIsRefused) {
  run(words("run", "2", {}));
  const std::string way_out = "name another file with --state";
  const auto refused = [&](const std::vector<std::string>& more,
                           const std::vector<std::string>& parts) {
    expect_step_refused(words("run", "2", more), parts);
  };
  refused({"SOLVER.TYPE", "Adam"},
          {"run.safetensors", "SOLVER.TYPE SGD", "now it is Adam", way_out});
  refused({"PRECISION", "bfloat16"}, {"PRECISION float32", "bfloat16", way_out});
  refused({"--freeze", "b1"}, {"MODEL.FREEZE", "b1", way_out});
  refused({"--seed", "7"}, {"RNG_SEED 1", "now it is 7"});
  refused({"TRAIN.EMA", "0.9"}, {"TRAIN.EMA 0", "no averages", "now it is 0.9", way_out});
  Graph graph(all_ops(), "net");
  const Value in = graph.input("x", {DType::float32, {"N", 3}});
  const Value w = graph.constant("w9", noise({3, 1}, 1));
  graph.output(reduce_mean(graph, matmul(graph, in, w, "product"), {}, false, "loss"));
  TrainingModel model(all_ops());
  model.inference = std::move(graph);
  save_model(model, folder / "net.onnx");
  fs::remove(folder / "in/y.npy");
  refused({}, {"run.safetensors", "contains no 'w9'"});
}

// The state of a network would lose the parameters that another network lacks.
TEST_F(StepState, OfALargerNetworkIsRefused) {
  run(words("run", "2", {}));
  Graph graph(all_ops(), "net");
  const Value in = graph.input("x", {DType::float32, {"N", 3}});
  const Value w = graph.constant("w1", noise({3, 8}, 1));
  graph.output(reduce_mean(graph, matmul(graph, in, w, "product"), {}, false, "loss"));
  TrainingModel model(all_ops());
  model.inference = std::move(graph);
  save_model(model, folder / "net.onnx");
  fs::remove(folder / "in/y.npy");
  expect_step_refused(
      words("run", "2", {}),
      {"run.safetensors: is of another network: it has b1, w2, which this network does not train",
       "name another file with --state"});
}

TEST_F(StepState, ThatIsDamagedIsRefusedAndStays) {
  run(words("run", "2", {}));
  const std::string path = folder / "run.safetensors", whole = read_file(path);
  const auto refused = [&](const std::vector<std::string>& parts) {
    expect_step_refused(words("run", "2", {}), parts);
  };
  write_file(path, whole.substr(0, whole.size() - 5));
  refused({"run.safetensors"});
  std::string flipped = whole;
  flipped[flipped.size() - 3] = static_cast<char>(flipped[flipped.size() - 3] ^ 1);
  write_file(path, flipped);
  refused({"run.safetensors"});
  const Literal w = noise({2}, 1);
  write_safetensors(path, {{"w", view_of(w)}}, {});
  refused({"run.safetensors", "is not a checkpoint"});
  fs::remove(path);
  fs::create_directory(path);
  refused({"run.safetensors': it is a folder"});
  fs::remove(path);
  expect_step_refused({"--state", ""}, {"--state is empty"});
  expect_step_refused({"--state", folder / "none/s"}, {"--state", "there is no folder"});
  // A step that fails leaves the state of the steps before.
  write_file(path, whole);
  expect_step_refused(words("run", "3", {"--lr", "1e30"}), {"after step ", "nothing is written"});
}

}  // namespace
}  // namespace lockstep::testing
