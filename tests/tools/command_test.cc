// SPDX-License-Identifier: Apache-2.0
// The binary from a user's view: its output, its refusals, its files.
#include <gtest/gtest.h>

#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "app/record/metrics.h"
#include "app/record/tensorboard.h"
#include "data/coco/read_annotations.h"
#include "data/scenes/scenes.h"
#include "graph/file.h"
#include "graph/printable.h"
#include "operators/cuda.h"
#include "runtime/state/checksum.h"
#include "runtime/state/safetensors.h"
#include "tests/support/training_command.h"

namespace lockstep::testing {
namespace {

namespace fs = std::filesystem;

using CommandTest = TrainingCommand;

TEST_F(CommandTest, AFolderThatCannotBeMadeIsToldInPlainWords) {
  write_file(folder / "file", "");
  const Outcome below = run_lockstep({"train", config(), "OUTPUT_DIR", folder / "file/run"});
  expect_refused(below, {"OUTPUT_DIR: ", folder / "file", "a part of the path is a file"});
  const Outcome proc = run_lockstep({"train", config(), "OUTPUT_DIR", "/proc/no/run"});
  expect_refused(proc, {"OUTPUT_DIR: cannot create the folder '/proc/no/run': "});
  const Outcome name =
      run_lockstep({"train", config(), "OUTPUT_DIR", folder / std::string(300, 'x')});
  expect_refused(name, {"OUTPUT_DIR: ", "File name too long; shorten the name"});
  for (const Outcome& outcome : {below, proc, name})
    EXPECT_EQ(outcome.err.find("filesystem error"), std::string::npos) << outcome.err;
}

TEST_F(CommandTest, ScenesAreWrittenWithTheirAnnotations) {
  const std::string out = folder / "scenes";
  const Outcome outcome = run_lockstep({"scenes", "--images", "3", "--out", out});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("3 pictures in " + out + "/images"), std::string::npos);
  const Annotations table = read_annotations(out + "/annotations.json");
  ASSERT_EQ(table.images.size(), 3U);
  const Scenes scenes({.count = 3});
  for (std::size_t i = 0; i < 3; ++i) {
    const Image written = read_image(out + "/images/" + table.images[i].file);
    const Image drawn = scenes.picture(i);
    ASSERT_EQ(written.rgb.size(), drawn.rgb.size());
    double apart = 0;  // JPEG loses more colour than brightness
    for (std::size_t p = 0; p < drawn.rgb.size(); ++p)
      apart += std::abs(written.rgb[p] - drawn.rgb[p]);
    EXPECT_LT(apart / static_cast<double>(drawn.rgb.size()), 16);
  }
  expect_refused(run_lockstep({"scenes", "--images", "0", "--out", out}), {"--images"});
  expect_refused(run_lockstep({"scenes", "--images", "1", "--out", out, "--seed", "-1"}),
                 {"--seed", "-1", "not in range 0"});
  expect_refused(run_lockstep({"scenes", "--images", "1", "--out", "/proc/scenes"}),
                 {"/proc/scenes"});
}

TEST_F(CommandTest, SaysItsVersionAndWhatItWasBuiltWith) {
  const Outcome outcome = run_lockstep({"--version"});
  EXPECT_EQ(outcome.exit_code, 0);
  for (const char* part : {"lockstep 0.", "oneDNN     ", "compiler   ", "GPU build  "})
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part;
}

TEST_F(CommandTest, TheLineSaysHowFarAndHowLong) {
  const std::string out = train("run").out;
  EXPECT_NE(out.find("iter     30/60   50 %  loss "), std::string::npos) << out;
  EXPECT_NE(out.find("0:0"), std::string::npos) << out;
  EXPECT_NE(out.find(" left\n"), std::string::npos) << out;
  EXPECT_NE(out.find("iter     60/60  100 %"), std::string::npos) << out;
  EXPECT_NE(out.find("iter     60  held-out accuracy"), std::string::npos) << out;
  EXPECT_EQ(train("quiet", {"--quiet"}).out, "");
}

// Generating or reading data takes a while; errors in the configuration come first.
TEST_F(CommandTest, WeightsAndDevicesAreCheckedBeforeData) {
  const std::vector<std::string> no_data{"DATA.NAME", "image_folder", "DATA.ROOT",
                                         folder / "nowhere"};
  auto with = [&](std::vector<std::string> keys) {
    keys.insert(keys.end(), no_data.begin(), no_data.end());
    return train("run", keys);
  };
  expect_refused(with({}), {"DATA.ROOT", "nowhere"});
  expect_refused(with({"MODEL.WEIGHTS", folder / "none.safetensors"}), {"none.safetensors"});
  expect_refused(with({"DEVICES", "gpu:99"}), {"gpu"});
}

TEST_F(CommandTest, TrainLeavesEverything) {
  Outcome outcome = train("run");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("held-out accuracy"), std::string::npos);
  auto rows = read_metrics(folder / "run/metrics.jsonl");
  ASSERT_EQ(rows.size(), 13u);  // 60 / 5 and the final test
  EXPECT_EQ(value_of(rows[0], "iter"), 5);
  EXPECT_GT(value_of(rows[0], "loss"), value_of(rows[11], "loss"));
  EXPECT_GT(value_of(rows[12], "test_accuracy"), 0.1);
  std::string report = read_file(folder / "run/report.html");
  for (const char* part :
       {"Loss", "Accuracy", "Learning rate", "<svg", "data:image/png", "SOLVER.BASE_LR"})
    EXPECT_NE(report.find(part), std::string::npos) << part;
  auto file = read_safetensors(folder / "run/checkpoint.safetensors");
  EXPECT_EQ(file.metadata.at("steps"), "60");
  EXPECT_EQ(file.tensors.count("fc1_w"), 1u);
  EXPECT_TRUE(fs::exists(folder / "run/step.onnx"));
}

TEST_F(CommandTest, DebugNamesEachParameterThatWillBeUpdated) {
  const auto lines = [&](const std::string& run, std::vector<std::string> more) {
    more.insert(more.end(), {"SOLVER.MAX_ITER", "1", "MODEL.FREEZE", "[fc2_w]"});
    const Outcome outcome = train(run, more);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    std::vector<std::string> found;
    std::istringstream in(outcome.out);
    for (std::string line; std::getline(in, line);)
      if (line.starts_with("param ")) found.push_back(line);
    return found;
  };
  const std::vector<std::string> all{
      "param fc1_w float32[32,784] will be updated", "param fc1_b float32[32] will be updated",
      "param fc2_w float32[16,32] is not trained",   "param fc2_b float32[16] will be updated",
      "param pred_w float32[10,16] will be updated", "param pred_b float32[10] will be updated"};
  EXPECT_EQ(lines("of_two", {"--debug"}), all);
  EXPECT_EQ(lines("of_one", {"--debug", "DEVICES", "cpu"}), all);
  EXPECT_TRUE(lines("plain", {}).empty());
  expect_refused(train("none", {"--debug", "--quiet"}), {"--debug", "--quiet"});
}

// The frames of TensorBoard's files: length, its checksum, data, its checksum.
TEST_F(CommandTest, TrainWritesTensorBoardEvents) {
  EXPECT_EQ(crc32c("123456789"), 0xE3069283U);
  ASSERT_EQ(train("run").exit_code, 0);
  std::string events;
  for (const auto& entry : fs::directory_iterator(folder / "run"))
    if (entry.path().filename().string().rfind("events.out.tfevents", 0) == 0)
      events = read_file(entry.path());
  int frames = 0;
  for (std::size_t at = 0; at < events.size(); ++frames) {
    uint64_t length = 0;
    uint32_t checksum = 0;
    ASSERT_LE(at + 12, events.size());
    std::memcpy(&length, &events[at], 8);
    ASSERT_LE(at + 16 + length, events.size());
    std::memcpy(&checksum, &events[at + 12 + length], 4);
    uint32_t crc = crc32c(std::string_view(events).substr(at + 12, length));
    EXPECT_EQ(checksum, ((crc >> 15) | (crc << 17)) + 0xA282EAD8U);
    at += 16 + length;
  }
  EXPECT_EQ(frames, 1 + 12 * 4 + 2 + 3) << "scalars, then the start, the end, and pictures";
  for (const char* part :
       {"brain.Event:2", "test/pictures", "\x89PNG", "_hparams_/session_start_info",
        "SOLVER.BASE_LR", "_hparams_/session_end_info"})
    EXPECT_NE(events.find(part), std::string::npos) << part;
  EXPECT_EQ(events.find("SOLVER.NESTEROV"), std::string::npos) << "equal to the default";
}

TEST_F(CommandTest, TwoRunsGiveTheSameBits) {
  ASSERT_EQ(train("a").exit_code, 0);
  ASSERT_EQ(train("b").exit_code, 0);
  EXPECT_TRUE(checkpoint("a") == checkpoint("b"));
}

TEST_F(CommandTest, AFullDiskKeepsTheOldCheckpoint) {
  ASSERT_EQ(train("run", {"SOLVER.MAX_ITER", "7"}).exit_code, 0);
  std::string old = checkpoint("run");
  ASSERT_GT(old.size(), 200000u);
  expect_refused(train("run", {"--resume"}, {.file_size_limit = 150000}),
                 {"checkpoint.safetensors.next.tmp", "File too large"});
  EXPECT_TRUE(checkpoint("run") == old);
  EXPECT_FALSE(fs::exists(folder / "run/checkpoint.safetensors.next"));
  EXPECT_FALSE(fs::exists(folder / "run/checkpoint.safetensors.next.tmp"));
  EXPECT_EQ(train("run", {"--resume"}).exit_code, 0);
}

// The file size limit ends no process by a signal.
TEST_F(CommandTest, ALimitOfFilesIsNamed) {
  const std::string command = "ulimit -f 8; exec " + shell_word(run_path()) + " train " + config() +
                              " OUTPUT_DIR " + (folder / "run") + " 2> " + (folder / "err") +
                              " > /dev/null";
  EXPECT_EQ(WEXITSTATUS(std::system(("bash -c " + shell_word(command)).c_str())), 2);
  EXPECT_NE(read_file(folder / "err").find("File too large"), std::string::npos);
}

// A terminal obeys escape codes, so names of files are printed escaped.
TEST_F(CommandTest, NamesArePrintedAsTheyCanBeSeen) {
  const std::string name = "a\x1b[31mb\nlockstep: all is well";
  expect_refused(run_lockstep({"train", folder / (name + ".yaml")}),
                 {"a\\x1b[31mb\nlockstep: all"});
  expect_refused(run_lockstep({"train", config("\"\\e[31mKEY\": 1\n")}),
                 {"config.yaml:1: \"\\x1b[31mKEY\"", "control character \\x1b"});
}

TEST_F(CommandTest, AConfigurationMayComeFromAPipeAndNothingElseMay) {
  expect_refused(run_lockstep({"train", "/dev/zero"}), {"/dev/zero", "a device"});
  const std::string pipe = folder / "pipe.yaml";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(pipe) << kTrainingConfig; });
  EXPECT_EQ(
      run_lockstep({"train", pipe, "OUTPUT_DIR", folder / "run", "SOLVER.MAX_ITER", "1"}).exit_code,
      0);
  writer.join();
  expect_refused(run_lockstep({"infer", folder / "run/model.onnx", pipe}),
                 {"pipe.yaml: it is a pipe"});
  expect_refused(run_lockstep({"train", config(), "MODEL.WEIGHTS", pipe}),
                 {"pipe.yaml: it is a pipe"});
}

TEST_F(CommandTest, ALossThatIsNotFiniteNamesItsOrigin) {
  Outcome outcome = train("run", {"SOLVER.BASE_LR", "1e6"});
  expect_refused(outcome, {"the loss is", "at iteration", "first value that is not finite is 'cpu_",
                           "lower SOLVER.BASE_LR"});
}

// 16 images over 3 replicas: 6, 5 and 5, each weighted by its number.
TEST_F(CommandTest, ABatchThatDoesNotDivideTrains) {
  const Outcome outcome =
      train("uneven", {"--devices", "cpu*3", "TRAIN.BATCH_SIZE", "16", "SOLVER.MAX_ITER", "5"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
}

TEST_F(CommandTest, GpuTrainingSaysWhatIsMissing) {
  expect_refused(train("run", {"--devices", "gpu*2"}), {"cannot run on gpu:0", "lockstep doctor"});
}

TEST_F(CommandTest, DoctorSaysWhatIsThere) {
  Outcome outcome = run_lockstep({"doctor"});
  EXPECT_EQ(outcome.exit_code, 0);
  for (const char* part : {"processor", "oneDNN", "GPU"})
    EXPECT_NE(outcome.out.find(part), std::string::npos);
  for (const GpuLibrary& library : gpu_libraries())
    EXPECT_NE(outcome.out.find(library.found ? library.purpose : library.file), std::string::npos);
}

}  // namespace
}  // namespace lockstep::testing
