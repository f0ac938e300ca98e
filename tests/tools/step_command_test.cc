// SPDX-License-Identifier: Apache-2.0
// `lockstep step`: several steps, rows of arrays, keys, and the network with its new values.
// tests/python/check_step_run.py compares with PyTorch.
#include "tests/tools/step_command.h"

#include "runtime/state/safetensors.h"
#include "tests/support/zip_files.h"

namespace lockstep::testing {
namespace {

namespace fs = std::filesystem;

using StepRows = StepCommand;
using StepKeys = StepCommand;
using StepNetwork = StepCommand;

// `count` rows of a matrix from row `first` on; behind its end come its first rows again.
Literal rows_of(const Literal& matrix, int64_t first, int64_t count) {
  const int64_t all = matrix.dims()[0], columns = matrix.dims()[1];
  std::vector<float> values;
  for (int64_t row = first; row < first + count; ++row)
    for (int64_t i = 0; i < columns; ++i)
      values.push_back(matrix.values<float>()[row % all * columns + i]);
  return Literal::of<float>(values, {count, columns});
}

TEST_F(StepRows, WithoutABatchEachStepHasAllRows) {
  const std::string said = run({"--outputs", folder / "out", "--steps", "3", "--momentum", "0"});
  const std::vector<float> three = losses();
  ASSERT_EQ(three.size(), 3u);
  EXPECT_LT(three[2], three[0]);
  for (const char* line : {"step 1: loss = ", "step 2: loss = ", "step 3: loss = "})
    EXPECT_NE(said.find(line), std::string::npos) << said;
  EXPECT_NE(said.find("3 parameters updated, 0 running statistics, on 1 replica"),
            std::string::npos)
      << said;
  // Without momentum, each step may begin from the network that the last one wrote.
  for (int i = 0; i < 3; ++i) {
    const std::string network = folder / ("net" + std::to_string(i) + ".onnx");
    EXPECT_EQ(run({"--outputs", folder / "one", "-o", network, "--momentum", "0"}).find("step 1"),
              std::string::npos);
    EXPECT_EQ(losses("one"), std::vector<float>{three[i]});
    fs::rename(network, folder / "net.onnx");
  }
  for (const char* name : {"w1.npy", "b1.npy", "w2.npy", "w1_grad.npy"})
    EXPECT_EQ(files("one").at(name), files("out").at(name)) << name;
}

// Batches of five begin at rows 0, 5, 10, 3, 8, ..
TEST_F(StepRows, FollowTheOrderOfTheFilesAndBeginAgain) {
  run({"--outputs", folder / "out", "--batch", "5", "--steps", "13", "--lr", "0"});
  const std::vector<float> all = losses();
  ASSERT_EQ(all.size(), 13u);
  for (int64_t k : {0, 1, 2, 3, 12}) {
    for (const auto& [name, matrix] : {std::pair{"x", &x}, {"y", &y}})
      write_npy(folder / ("in/" + std::string(name) + ".npy"), rows_of(*matrix, 5 * k, 5));
    run({"--outputs", folder / "one", "--lr", "0"});
    EXPECT_EQ(losses("one")[0], all[k]) << k;
  }
  EXPECT_EQ(all[12], all[0]);
}

// One set in every kind of file.
TEST_F(StepRows, ComeFromEverySetOfArrays) {
  const std::vector<std::string> words{"--outputs", folder / "out", "--batch", "4", "--steps",
                                       "3",         "--devices",    "cpu*2"};
  const auto from = [&](const std::string& inputs) {
    std::vector<std::string> all = words;
    all.insert(all.end(), {"--inputs", folder / inputs});
    run(all);
    const auto written = files("out");
    fs::remove_all(folder / "out");
    return written;
  };
  const auto expected = from("in");
  ASSERT_EQ(expected.size(), 7u);
  write_file(folder / "set.npz", npz_of({{"x", x}, {"y", y}}, true));
  EXPECT_EQ(from("set.npz"), expected);
  const Literal wide =
      Literal::rounded<float>(DType::float64, x.values<float>(), {12, 3});  // has the same values
  write_safetensors(folder / "set.safetensors", {{"x", view_of(wide)}, {"y", view_of(y)}}, {});
  EXPECT_EQ(from("set.safetensors"), expected);
  fs::create_directory(folder / "shards");
  for (int64_t k : {0, 1}) {
    write_npy(folder / join("shards/x-0000", k, ".npy"), rows_of(x, 6 * k, 6));
    write_npy(folder / join("shards/y-0000", k, ".npy"), rows_of(y, 6 * k, 6));
  }
  EXPECT_EQ(from("shards"), expected);
  fs::create_directory(folder / "positions");
  write_npy(folder / "positions/input_0.npy", x);
  write_npy(folder / "positions/y.npy", y);
  EXPECT_EQ(from("positions"), expected);
}

// Without --batch a set is one batch, too. Numbers of CSV files are decimal.
TEST_F(StepRows, OfATableAreOneBatchByDefault) {
  std::string table = "x.0,x.1,x.2,y.0,y.1,comment\n";
  std::vector<float> inputs, targets;
  for (int i = 0; i < 6; ++i) {
    table += join(i, ",0.5,", -i, ",1,", 2 * i, ",none\n");
    inputs.insert(inputs.end(), {static_cast<float>(i), 0.5F, static_cast<float>(-i)});
    targets.insert(targets.end(), {1, static_cast<float>(2 * i)});
  }
  write_file(folder / "table.csv", table);
  write_npy(folder / "in/x.npy", Literal::of<float>(inputs, {6, 3}));
  write_npy(folder / "in/y.npy", Literal::of<float>(targets, {6, 2}));
  run({"--outputs", folder / "out"});
  run({"--outputs", folder / "table", "--inputs", folder / "table.csv"});
  EXPECT_EQ(files("table"), files("out"));
}

TEST_F(StepRows, AreRefusedIfTheyDoNotFit) {
  const std::vector<std::string> out{"--outputs", folder / "out"};
  const auto refused = [&](std::vector<std::string> words, const std::vector<std::string>& parts) {
    words.insert(words.end(), out.begin(), out.end());
    expect_step_refused(words, parts);
  };
  refused({"--batch", "13"}, {"--batch is 13", "has 12 rows"});
  refused({"--batch", "0"}, {"--batch", "not in range 1"});
  refused({"--steps", "0"}, {"--steps", "not in range 1"});
  refused({"--batch", "3", "--devices", "cpu*2"}, {"batch of 3", "2 devices"});
  refused({"--batch", "6", "TRAIN.MICRO_BATCHES", "4"}, {"batch of 6", "4 micro-batches each"});
  refused({"--batch", "4", "--inputs", folder / "none"}, {"no file or folder", "none"});
  write_npy(folder / "in/y.npy", rows_of(y, 0, 11));
  refused({"--batch", "4"}, {"y", "11", "12"});
  write_npy(folder / "in/y.npy", y);
  save_network(0, Dim(4));
  refused({"--batch", "6"}, {"takes 4 rows in a step", "'x'", "--batch is 6"});
  run({"--batch", "4", "--steps", "3", "--outputs", folder / "four", "--devices", "cpu*2"});
  EXPECT_EQ(losses("four").size(), 3u);
}

// An input without rows is read beside the arrays and goes to every replica.
TEST_F(StepRows, StandBesideInputsWithoutRows) {
  Graph graph(all_ops(), "net");
  const Value in = graph.input("x", {DType::float32, {"N", 3}});
  const Value factor = graph.input("factor", {DType::float32, {}});
  const Value w = graph.constant("w", noise({3, 1}, 1));
  const Value product = mul(graph, matmul(graph, in, w, "product"), factor, "scaled");
  graph.output(reduce_mean(graph, product, {}, false, "loss"));
  TrainingModel model(all_ops());
  model.inference = std::move(graph);
  save_model(model, folder / "net.onnx");
  fs::remove(folder / "in/y.npy");
  expect_step_refused({"--batch", "4", "--outputs", folder / "out"},
                      {"'factor' float32[]", "has no rows", "factor.npy"});
  write_npy(folder / "in/factor.npy", Literal::scalar(2.0F));
  run({"--batch", "12", "--outputs", folder / "batch", "--devices", "cpu*2"});
  run({"--outputs", folder / "whole", "--devices", "cpu*2"});
  EXPECT_EQ(files("batch"), files("whole"));
}

TEST_F(StepKeys, AreTheFlags) {
  save_network(0.25F);
  const std::vector<std::string> steps{"--steps", "3", "--batch", "4"};
  const auto written = [&](std::vector<std::string> words) {
    words.insert(words.end(), steps.begin(), steps.end());
    words.insert(words.end(), {"--outputs", folder / "out"});
    run(words);
    return files("out");
  };
  const auto flags =
      written({"--lr", "0.05", "--momentum", "0.5", "--weight-decay", "0.1", "--seed", "3"});
  EXPECT_EQ(written({"SOLVER.BASE_LR", "0.05", "SOLVER.MOMENTUM", "0.5", "SOLVER.WEIGHT_DECAY",
                     "0.1", "RNG_SEED", "3"}),
            flags);
  EXPECT_EQ(written({"--lr", "0.05", "--momentum", "0.5", "--weight-decay", "0.1", "--seed", "3",
                     "--threads", "2"}),
            flags);
  EXPECT_NE(written({"--lr", "0.05", "--momentum", "0.5", "--weight-decay", "0.1"}), flags);
}

TEST_F(StepKeys, ChooseScheduleAndPrecision) {
  const auto changed_by = [&](std::vector<std::string> words) {
    run({"--steps", "4", "--outputs", folder / "plain"});
    words.insert(words.end(), {"--steps", "4", "--outputs", folder / "out"});
    run(words);
    return losses() != losses("plain");
  };
  EXPECT_TRUE(changed_by({"SOLVER.WARM_UP_ITERS", "3"}));
  EXPECT_TRUE(changed_by({"SOLVER.LR_POLICY", "cosine_decay", "SOLVER.MAX_ITER", "4"}));
  EXPECT_TRUE(changed_by({"SOLVER.STEP_SIZE", "1"}));
  EXPECT_TRUE(changed_by({"--precision", "bfloat16"}));
  EXPECT_TRUE(changed_by({"SOLVER.TYPE", "Lion"}));
  EXPECT_TRUE(changed_by({"SOLVER.CLIP_NORM", "0.01"}));
  EXPECT_FALSE(changed_by({"--exact"})) << "the network has no convolution";
  EXPECT_FALSE(changed_by({"TRAIN.EMA", "0.5"}));
}

// The first scales of float16 overflow. A skipped step changes nothing.
TEST_F(StepKeys, SkippedStepsAreSaid) {
  write_npy(folder / "in/y.npy", Literal::of<float>(std::vector<float>(24, 200), {12, 2}));
  const std::string said =
      run({"--precision", "float16", "--steps", "2", "--outputs", folder / "out"});
  EXPECT_NE(said.find("; skipped: the gradient '"), std::string::npos) << said;
  ASSERT_EQ(losses().size(), 2u);
  EXPECT_EQ(losses()[0], losses()[1]);
}

TEST_F(StepKeys, AreRefusedByName) {
  const auto refused = [&](std::vector<std::string> words, const std::vector<std::string>& parts) {
    words.insert(words.end(), {"--outputs", folder / "out"});
    expect_step_refused(words, parts);
  };
  refused({"SOLVER.TYPE", "Adm"}, {"SOLVER.TYPE", "'Adm'", "did you mean Adam"});
  refused({"SOLVER.BASE_LRR", "1"}, {"SOLVER.BASE_LRR", "SOLVER.BASE_LR"});
  refused({"SOLVER.BASE_LR", "0.1", "--lr", "0.2"}, {"--lr and SOLVER.BASE_LR are both given"});
  refused({"RNG_SEED", "1", "--seed", "2"}, {"--seed and RNG_SEED are both given"});
  refused({"SOLVER.LR_POLICY", "plateau"}, {"SOLVER.LR_POLICY", "plateau", "does not test"});
  refused({"SOLVER.LR_POLICY", "cosine_decay"}, {"cosine_decay", "set SOLVER.MAX_ITER"});
  refused({"SOLVER.MAX_ITER", "2", "--steps", "3"}, {"SOLVER.MAX_ITER is 2", "end with step 3"});
  refused({"TEST.ITERS", "2"}, {"TEST.ITERS", "has no effect on single steps"});
  refused({"SOLVER.PLATEAU_FACTOR", "0.5"}, {"SOLVER.PLATEAU_FACTOR", "has no effect"});
  refused({"PRECISION", "float8"}, {"PRECISION", "float8"});
  refused({"ALL_REDUCE", "none_such"}, {"ALL_REDUCE", "none_such"});
  refused({"SOLVER.TYPE"}, {"'SOLVER.TYPE' has no value"});
  refused({"--lr", "1e30", "--steps", "4"}, {"after step ", "nothing is written"});
}

// The literal of an initializer in a network's file.
Literal value_in(const std::string& path, const std::string& name) {
  const LoadedModel file = load_model(all_ops(), path);
  return *file.model.inference.literal(file.model.inference.at(name));
}

TEST_F(StepNetwork, HasTheNewValuesAndAllElseAsItWas) {
  for (const char* devices : {"cpu", "cpu*2"}) {
    run({"-o", folder / "new.onnx", "--outputs", folder / "out", "--steps", "2", "SOLVER.TYPE",
         "Adam", "--freeze", "b1", "--devices", devices});
    for (const char* name : {"w1", "w2"}) {
      const Literal value = value_in(folder / "new.onnx", name);
      EXPECT_TRUE(value == read_npy(folder / ("out/" + std::string(name) + ".npy"))) << name;
      EXPECT_FALSE(value == value_in(folder / "net.onnx", name)) << name;
    }
    EXPECT_TRUE(value_in(folder / "new.onnx", "b1") == value_in(folder / "net.onnx", "b1"));
    const LoadedModel before = load_model(all_ops(), folder / "net.onnx"),
                      after = load_model(all_ops(), folder / "new.onnx");
    EXPECT_EQ(after.model.metadata, before.model.metadata);
    EXPECT_EQ(after.kinds, before.kinds);
    EXPECT_EQ(after.kinds.size(), 3u);
    EXPECT_EQ(after.initializers, before.initializers);
    const Graph &old = before.model.inference, &now = after.model.inference;
    ASSERT_EQ(now.value_count(), old.value_count());
    for (int id = 0; id < now.value_count(); ++id)
      EXPECT_EQ(join(now.name({id}), " ", now.type({id})),
                join(old.name({id}), " ", old.type({id})));
  }
}

TEST_F(StepNetwork, HasAveragesIfTestsHaveThem) {
  const std::vector<std::string> words{
      "--outputs", folder / "out", "-o", folder / "new.onnx", "--steps", "3", "TRAIN.EMA", "0.9"};
  run(words);
  EXPECT_TRUE(value_in(folder / "new.onnx", "w1") == read_npy(folder / "out/w1_ema.npy"));
  std::vector<std::string> raw = words;
  raw.insert(raw.end(), {"TEST.AVERAGES", "false"});
  run(raw);
  EXPECT_TRUE(value_in(folder / "new.onnx", "w1") == read_npy(folder / "out/w1.npy"));
  EXPECT_FALSE(value_in(folder / "new.onnx", "w1") == read_npy(folder / "out/w1_ema.npy"));
}

TEST_F(StepNetwork, ReplacesNoInput) {
  const auto kept = "which this command reads";
  expect_step_refused({"-o", folder / "net.onnx"}, {"-o: writing", "net.onnx", kept});
  expect_step_refused({"-o", folder / "in/x.npy"}, {"-o: writing", "x.npy", kept});
  expect_step_refused({"--state", folder / "net.onnx"}, {"--state: writing", "net.onnx", kept});
  expect_step_refused({"-o", ""}, {"-o is empty"});
  expect_step_refused({"--outputs", ""}, {"--outputs is empty"});
  expect_step_refused({"-o", folder / "none/new.onnx"}, {"-o", "there is no folder", "none"});
  expect_step_refused({"-o", folder / "in"}, {"in': it is a folder"});
  expect_step_refused({"--outputs", folder / "net.onnx"}, {"--outputs", "is not a folder"});
  expect_step_refused({"-o", folder / "a", "--state", folder / "a"}, {"-o and --state", "both"});
  expect_step_refused({"--steps", "2"}, {"nothing to write", "--outputs", "-o", "--state"});
}

}  // namespace
}  // namespace lockstep::testing
