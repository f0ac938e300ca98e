// SPDX-License-Identifier: Apache-2.0
// `lockstep train` and related commands with images as bytes: DATA.BYTES.
#include <gtest/gtest.h>

#include <filesystem>

#include "data/dataset.h"
#include "data/npy.h"
#include "lockstep/model_files.h"
#include "lockstep/operators.h"
#include "runtime/state/safetensors.h"
#include "tests/support/pictures.h"
#include "tests/support/training_command.h"

namespace lockstep::testing {
namespace {

class BytesCommand : public TrainingCommand {
 protected:
  StateValues trained(const std::string& run, std::vector<std::string> keys) {
    const Outcome outcome = train(run, std::move(keys));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return read_safetensors(folder / (run + "/checkpoint.safetensors")).tensors;
  }
  DType input_of(const std::string& run) {
    const Graph graph = load_model(all_ops(), folder / (run + "/model.onnx")).model.inference;
    return graph.dtype(graph.inputs()[0]);
  }
  std::string predictions(const std::string& run) {
    const Outcome outcome = run_lockstep({"infer", folder / (run + "/model.onnx"),
                                          folder / "digit.png", "--out", folder / (run + "/seen")});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return read_file(folder / (run + "/seen/predictions.json"));
  }
  // Writes a held-out digit to a file.
  void write_digit() {
    const auto data = dataset_named({.size = 1, .held_out = true});
    std::vector<uint8_t> bytes(static_cast<std::size_t>(data->image_values()));
    int64_t label = 0;
    data->read_bytes(0, 0, bytes.data(), &label);
    write_png(folder / "digit.png", picture_of(bytes.data(), data->preparation()));
  }
};

TEST_F(BytesCommand, TrainsTestsAndPredictsToTheSameBits) {
  write_digit();
  for (const char* precision : {"float32", "bfloat16"}) {
    const std::string name = precision;
    const std::vector<std::string> keys{"SOLVER.MAX_ITER", "12",         "PRECISION",
                                        precision,         "TEST.ITERS", "12"};
    std::vector<std::string> with_bytes = keys;
    with_bytes.insert(with_bytes.end(), {"DATA.BYTES", "true"});
    const StateValues floats = trained("floats" + name, keys);
    EXPECT_TRUE(floats == trained("bytes" + name, with_bytes)) << name;
    EXPECT_EQ(input_of("floats" + name), DType::float32);
    EXPECT_EQ(input_of("bytes" + name), DType::uint8);
    EXPECT_EQ(predictions("floats" + name), predictions("bytes" + name));
    std::vector<std::string> scores;
    for (const std::string run : {"floats", "bytes"}) {
      const Outcome test = run_lockstep(
          {"test", folder / (run + name + "/config.yaml"), "--out", folder / (run + name)});
      EXPECT_EQ(test.exit_code, 0) << test.err;
      scores.push_back(test.out.substr(0, test.out.find(", weights")));
    }
    EXPECT_EQ(scores[0], scores[1]);
  }
}

TEST_F(BytesCommand, ResumesToTheSameBitsAndNamesAnotherChoice) {
  const std::vector<std::string> bytes{"DATA.BYTES", "true", "SOLVER.MAX_ITER"};
  auto until = [&](const char* last, std::vector<std::string> first = {}) {
    first.insert(first.end(), bytes.begin(), bytes.end());
    first.emplace_back(last);
    return first;
  };
  const StateValues whole = trained("whole", until("14"));
  trained("cut", until("7"));
  expect_refused(train("cut", {"--resume", "SOLVER.MAX_ITER", "14"}),
                 {"checkpoint.safetensors", "DATA.BYTES true", "now it is false"});
  EXPECT_TRUE(whole == trained("cut", until("14", {"--resume"})));
}

TEST_F(BytesCommand, RefusesWhatHasNoBytes) {
  expect_refused(train("run", {"DATA.NAME", "synthetic", "DATA.BYTES", "true"}),
                 {"DATA.BYTES", "DATA.NAME synthetic", "floats"});
  expect_refused(run_lockstep({"plan", "lstm", "DATA.BYTES", "true"}), {"lstm"});
  expect_refused(run_lockstep({"bench", "train-step", "--model", "lstm", "--bytes"}), {"--bytes"});
  write_file(folder / "detector.yaml", "DATA: {BYTES: true}\nMODEL: {TYPE: generalized_rcnn}\n");
  expect_refused(run_lockstep({"plan", folder / "detector.yaml"}), {"DATA.BYTES"});
}

TEST_F(BytesCommand, TrainsTheNetworkOfAFile) {
  ASSERT_EQ(train("floats", {"SOLVER.MAX_ITER", "2"}).exit_code, 0);
  ASSERT_EQ(train("bytes", {"SOLVER.MAX_ITER", "2", "DATA.BYTES", "true"}).exit_code, 0);
  auto from = [&](const std::string& file, const char* bytes) {
    return std::vector<std::string>{
        "SOLVER.MAX_ITER", "5", "DATA.BYTES", bytes, "MODEL.ONNX", folder / (file + "/model.onnx")};
  };
  const StateValues fed_floats = trained("a", from("floats", "false"));
  EXPECT_TRUE(fed_floats == trained("b", from("floats", "true"))) << "nodes before the file's";
  EXPECT_TRUE(fed_floats == trained("c", from("bytes", "true"))) << "the file's own nodes";
  EXPECT_EQ(input_of("c"), DType::uint8);
  expect_refused(train("d", from("bytes", "false")), {"model.onnx", "uint8", "DATA.BYTES true"});
}

TEST_F(BytesCommand, AreNotFloats) {
  ASSERT_EQ(train("run", {"SOLVER.MAX_ITER", "1", "DATA.BYTES", "true"}).exit_code, 0);
  std::filesystem::create_directories(folder / "in");
  write_npy(folder / "in/data.npy", Literal(DType::float32, {2, 1, 28, 28}));
  expect_refused(run_lockstep({"run", folder / "run/model.onnx", "--inputs", folder / "in",
                               "--outputs", folder / "out"}),
                 {"data.npy: input 'data' is uint8[N,1,28,28]", "float32[2,1,28,28]"});
}

TEST_F(BytesCommand, PlansAModelsStep) {
  const Outcome plan = run_lockstep({"plan", "lenet", "--batch", "4", "DATA.BYTES", "true"});
  ASSERT_EQ(plan.exit_code, 0) << plan.err;
  EXPECT_NE(plan.out.find("cpu_0/data@cpu:0+0 uint8[4,1,28,28]"), std::string::npos) << plan.out;
  EXPECT_NE(plan.out.find("ByteTable"), std::string::npos);
  expect_refused(run_lockstep({"plan", "lenet", "DATA.FLIP", "true"}), {"DATA.FLIP", "DATA.BYTES"});
}

}  // namespace
}  // namespace lockstep::testing
