// SPDX-License-Identifier: Apache-2.0
// `lockstep export`, `test` and `infer`: the results of a trained network, and refused arguments.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "data/dataset.h"
#include "lockstep/model_files.h"
#include "lockstep/operators.h"
#include "tests/support/pictures.h"
#include "tests/support/training_command.h"

namespace lockstep::testing {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr int kPictures = 30;

// Digits are generated, so the test can write a held-out digit as a picture.
class TrainedNetworkTest : public TrainingCommand {
 protected:
  void SetUp() override {
    ASSERT_EQ(train("run").exit_code, 0);
    const auto data =
        dataset_named({.name = "digits", .size = kPictures, .seed = 3, .held_out = true});
    std::vector<float> example(static_cast<std::size_t>(data->image_values()));
    fs::create_directories(folder / "pictures");
    for (int i = 0; i < kPictures; ++i) {
      int64_t label = 0;
      data->read(i, 0, example.data(), &label);
      labels.push_back(std::to_string(label));
      write_png(picture(i), picture_of(example.data(), data->preparation()));
    }
  }
  std::string picture(int i) const { return folder / join("pictures/", 100 + i, ".png"); }
  Outcome on_run(std::vector<std::string> words) {
    words.insert(words.begin() + 2, {"OUTPUT_DIR", folder / "run"});
    return run_lockstep(words);
  }
  json predictions(const std::string& out) {
    return json::parse(read_file(folder / (out + "/predictions.json")));
  }
  std::vector<std::string> labels;
};

TEST_F(TrainedNetworkTest, AnswersAsTheTestCounts) {
  const Outcome test = on_run(
      {"test", config(), "DATA.TEST_SIZE", std::to_string(kPictures), "--out", folder / "scores"});
  ASSERT_EQ(test.exit_code, 0) << test.err;
  const json scores = json::parse(read_file(folder / "scores/scores.json"));
  ASSERT_EQ(run_lockstep(
                {"infer", folder / "run/model.onnx", folder / "pictures", "--out", folder / "seen"})
                .exit_code,
            0);
  const json seen = predictions("seen");
  ASSERT_EQ(seen.size(), labels.size());
  int right = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    EXPECT_EQ(seen[i]["picture"], picture(static_cast<int>(i)));
    right += seen[i]["class"] == labels[i];
    EXPECT_EQ(seen[i]["scores"].size(), 10u);
  }
  EXPECT_EQ(right, std::lround(kPictures * scores["accuracy"].get<double>()));
  EXPECT_NE(test.out.find(join("(", right, " of 30)")), std::string::npos) << test.out;
}

// From every source, for any number of replicas and processes.
TEST_F(TrainedNetworkTest, IsTheSameFromEverySource) {
  ASSERT_EQ(run_lockstep({"export", folder / "run", "-o", folder / "a.onnx"}).exit_code, 0);
  ASSERT_EQ(run_lockstep({"export", folder / "run/checkpoint.safetensors", "-o", folder / "b.onnx"})
                .exit_code,
            0);
  EXPECT_EQ(read_file(folder / "a.onnx"), read_file(folder / "b.onnx"));
  std::vector<json> said;
  for (const std::string& source : {folder / "a.onnx", folder / "run/model.onnx", folder / "run"}) {
    ASSERT_EQ(
        run_lockstep({"infer", source, folder / "pictures", "--out", folder / "seen"}).exit_code,
        0);
    said.push_back(predictions("seen"));
    EXPECT_EQ(said.back(), said.front()) << source;
  }
  const std::string one = on_run({"test", config(), "--devices", "cpu"}).out;
  EXPECT_NE(one.find("held-out accuracy"), std::string::npos);
  EXPECT_EQ(on_run({"test", config(), "--devices", "cpu*3"}).out, one);
  const Outcome two = run_lockstep({"launch", "-n", "2", "--", "lockstep", "test", config(),
                                    "OUTPUT_DIR", folder / "run", "DEVICES", "cpu"});
  EXPECT_EQ(two.exit_code, 0);
  EXPECT_NE(two.out.find(one.substr(0, one.find('\n'))), std::string::npos) << two.out;
}

TEST_F(TrainedNetworkTest, IsWrittenAtEveryBestResult) {
  ASSERT_EQ(train("often", {"TEST.ITERS", "5"}).exit_code, 0);
  const auto best = load_model(all_ops(), folder / "often/best.onnx").model.metadata;
  const auto last = load_model(all_ops(), folder / "often/model.onnx").model.metadata;
  const json at_best = json::parse(best.at("trained")), at_end = json::parse(last.at("trained"));
  EXPECT_EQ(at_end["iterations"], 60);
  EXPECT_GE(at_best["held_out_accuracy"], at_end["held_out_accuracy"]);
  const Outcome scored = on_run({"test", config(), "--weights", folder / "often/best.safetensors"});
  const int hits = static_cast<int>(std::lround(100 * at_best["held_out_accuracy"].get<double>()));
  EXPECT_NE(scored.out.find(join("(", hits, " of 100)")), std::string::npos) << scored.out;
}

TEST_F(TrainedNetworkTest, OfAStepThatIsNotInitialisedIsRefusedAndSaysSo) {
  expect_refused(run_lockstep({"infer", folder / "run/step.onnx", picture(0)}),
                 {"step.onnx", "is a training step", "lockstep export"});
  const Outcome seen = run_lockstep({"inspect", folder / "run/step.onnx"});
  EXPECT_NE(seen.out.find("not initialised"), std::string::npos) << seen.out;
  const Outcome trained = run_lockstep({"inspect", folder / "run/model.onnx"});
  EXPECT_EQ(trained.out.find("not initialised"), std::string::npos) << trained.out;
  EXPECT_NE(trained.out.find("classes"), std::string::npos) << trained.out;
}

TEST_F(TrainedNetworkTest, PicturesThatCannotBeReadAreNamedAndTheOthersSeen) {
  write_file(folder / "pictures/110.png", "no picture");
  const Outcome outcome =
      run_lockstep({"infer", folder / "run", folder / "pictures", "--out", folder / "seen"});
  expect_refused(outcome, {"110.png", "not a JPEG, PNG, WebP or BMP file", "1 of 30 pictures"});
  const json seen = predictions("seen");
  ASSERT_EQ(seen.size(), 30u);
  EXPECT_TRUE(seen[10].contains("error"));
  EXPECT_TRUE(seen[11].contains("class"));
}

TEST_F(TrainedNetworkTest, WhatDoesNotFitIsNamed) {
  const std::string run = folder / "run";
  expect_refused(run_lockstep({"infer", folder / "none.yaml", picture(0)}), {"none.yaml"});
  expect_refused(run_lockstep({"infer", picture(0), picture(0)}),
                 {"is neither a model.onnx nor a CONFIG.yaml nor a run's folder"});
  expect_refused(run_lockstep({"infer", run, folder / "nothing.png"}), {"nothing.png"});
  for (const char* option : {"--length", "--temperature", "--seed", "--threshold"})
    expect_refused(run_lockstep({"infer", run + "/model.onnx", picture(0), option, "1"}),
                   {std::string(option) + " does not apply to " + run, "which is a classifier"});
  expect_refused(run_lockstep({"infer", run, picture(0), "--seed", "-1"}), {"--seed", "-1"});
  expect_refused(run_lockstep({"infer", config("OUTPUT_DIR: " + (folder / "none")), picture(0)}),
                 {"there is no run in", "lockstep train"});
  expect_refused(run_lockstep({"export", folder / "none"}), {"none' does not exist"});
  write_file(folder / "step.onnx", "");
  expect_refused(run_lockstep({"export", folder / "step.onnx"}), {"step.onnx' is already a model"});
  expect_refused(run_lockstep({"export", folder.path()}), {"contains no checkpoint.safetensors"});
  expect_refused(on_run({"test", config(), "MODEL.HIDDEN", "[32, 17]"}),
                 {"with different shapes", "fc2_w is float32[17,32]"});
  expect_refused(run_lockstep({"test", config(), "OUTPUT_DIR", folder / "none"}),
                 {"there is no run in"});
  ASSERT_EQ(run_lockstep({"build", "lenet", "-o", folder / "lenet.onnx"}).exit_code, 0);
  fs::copy_file(folder / "lenet.onnx", folder / "run/step.onnx",
                fs::copy_options::overwrite_existing);
  expect_refused(run_lockstep({"export", run}), {"checkpoint.safetensors", "step.onnx", "conv1_"});
  fs::remove(folder / "run/step.onnx");
  expect_refused(run_lockstep({"export", run}), {"step.onnx", "does not exist"});
}

TEST_F(TrainedNetworkTest, WhatIsSaidOfPicturesIsOfTheRightKind) {
  const std::string odd = folder / "odd.onnx";
  auto infer_with = [&](const char* key, const json& value) {
    LoadedModel file = load_model(all_ops(), folder / "run/model.onnx");
    json said = json::parse(file.model.metadata.at("picture"));
    said[key] = value;
    file.model.metadata["picture"] = said.dump();
    save_model(file.model, odd);
    return run_lockstep({"infer", odd, picture(0)});
  };
  EXPECT_EQ(infer_with("height", 28).exit_code, 0);
  for (const json& value : {json(28.5), json(true), json("28"), json(1e300), json(nullptr)})
    expect_refused(infer_with("height", value), {odd, "'height' should be an integer"});
  expect_refused(infer_with("deviation", json::array({1e300})),
                 {odd, "does not describe a picture"});
}

}  // namespace
}  // namespace lockstep::testing
