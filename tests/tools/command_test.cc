// The binary as a user meets it: what it prints, what it refuses, what it leaves behind.
#include <gtest/gtest.h>

#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "data/coco/read_annotations.h"
#include "data/scenes/scenes.h"
#include "graph/file.h"
#include "graph/printable.h"
#include "operators/cuda.h"
#include "runtime/state/checksum.h"
#include "runtime/state/safetensors.h"
#include "tests/support/training_command.h"
#include "tools/record/metrics.h"
#include "tools/record/tensorboard.h"

namespace lockstep::testing {
namespace {

namespace fs = std::filesystem;

using CommandTest = TrainingCommand;

TEST_F(CommandTest, EveryCommandHasHelpWithAnExample) {
  for (const char* command : {"train", "test", "infer", "export", "build", "inspect", "plan", "run",
                              "step", "bench", "launch", "scenes", "doctor"}) {
    Outcome outcome = run_lockstep({command, "--help"});
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_NE(outcome.out.find("Example:  lockstep " + std::string(command)), std::string::npos);
  }
  EXPECT_EQ(run_lockstep({"--help"}).exit_code, 0);
}

TEST_F(CommandTest, MisspeltCommandsGetTheNearestOne) {
  expect_refused(run_lockstep({"trian", "x"}),
                 {"unknown subcommand 'trian', did you mean 'train'?"});
  expect_refused(run_lockstep({"xyzzy"}), {"unknown subcommand 'xyzzy'", "--help"});
  expect_refused(run_lockstep({"--bogus"}), {"unknown option '--bogus'", "--help"});
  expect_refused(run_lockstep({"--bogus", "train"}), {"unknown option '--bogus'"});
}

TEST_F(CommandTest, HelpIsAWordToo) {
  EXPECT_EQ(run_lockstep({"help"}).out, run_lockstep({"--help"}).out);
  EXPECT_EQ(run_lockstep({"help", "--all"}).out, run_lockstep({"--help"}).out);
  for (const char* command : {"train", "launch", "keys", "completion"}) {
    const Outcome outcome = run_lockstep({"help", command});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.out, run_lockstep({command, "--help"}).out);
  }
  expect_refused(run_lockstep({"help", "trian"}), {"'trian', did you mean 'train'?"});
}

TEST_F(CommandTest, MisspeltOptionsGetTheNearestOne) {
  const std::string path = config();
  expect_refused(run_lockstep({"train", path, "--thread", "1"}),
                 {"unknown option '--thread', did you mean '--threads'?; lockstep train --help"});
  expect_refused(run_lockstep({"train", path, "--thread=1"}), {"did you mean '--threads'?"});
  expect_refused(run_lockstep({"inspect", "mlp", "--formt", "text"}), {"did you mean '--format'?"});
  expect_refused(run_lockstep({"step", "x.onnx", "--inptus", "in"}), {"did you mean '--inputs'?"});
  expect_refused(run_lockstep({"doctor", "--device-propertys"}),
                 {"unknown option '--device-propertys', did you mean '--device-properties'?"});
  expect_refused(run_lockstep({"step", "x.onnx"}), {"--inputs is required"});
  expect_refused(run_lockstep({"doctor", "now"}), {"not expected: now"});
  expect_refused(run_lockstep({"train", path, "--xyzzy", "1"}), {"unknown option '--xyzzy'; "});
}

TEST_F(CommandTest, KeysThatAreSpeltAnotherWayGetTheirName) {
  const std::string path = config();
  expect_refused(run_lockstep({"train", path, "solver.base_lr", "0.1"}),
                 {"unknown key solver.base_lr; did you mean SOLVER.BASE_LR?"});
  expect_refused(run_lockstep({"train", path, "Solver.Base_lrr", "0.1"}),
                 {"did you mean SOLVER.BASE_LR?"});
  expect_refused(run_lockstep({"train", path, "base_lr", "0.1"}), {"did you mean SOLVER.BASE_LR?"});
  expect_refused(run_lockstep({"train", config("solver:\n  base_lr: 0.1\n")}),
                 {path + ":2: unknown key solver.base_lr; did you mean SOLVER.BASE_LR?"});
  const std::string said = "'SOLVER.BASE_LR=0.1': write SOLVER.BASE_LR 0.1, with a space instead";
  for (const std::vector<std::string>& words : {std::vector<std::string>{"SOLVER.BASE_LR=0.1"},
                                                {"SOLVER.BASE_LR=0.1", "SOLVER.GAMMA=1"},
                                                {"--resume", "SOLVER.BASE_LR=0.1"},
                                                {"SOLVER.GAMMA", "1", "SOLVER.BASE_LR=0.1"}}) {
    std::vector<std::string> all{"train", config()};
    all.insert(all.end(), words.begin(), words.end());
    expect_refused(run_lockstep(all), {said});
  }
  expect_refused(run_lockstep({"plan", config(), "solver.base_lr=0.1"}),
                 {"write SOLVER.BASE_LR 0.1, with"});
  expect_refused(run_lockstep({"train", config(), "DATA.ROOT=a b"}),
                 {"write DATA.ROOT 'a b', with"});
  // A value may have the sign.
  EXPECT_EQ(
      run_lockstep({"train", config(), "OUTPUT_DIR", folder / "lr=0.1", "SOLVER.MAX_ITER", "1"})
          .exit_code,
      0);
}

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
    double apart = 0;  // JPEG loses colour more than light
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

TEST_F(CommandTest, ShellsCompleteItsWords) {
  const auto completed = [&](const std::vector<std::string>& words) {
    std::string line;
    for (const std::string& word : words) line += "'" + word + "' ";
    write_file(folder / "complete.sh",
               run_lockstep({"completion", "bash"}).out + "cd " + folder.path() +
                   "\nCOMP_WORDS=(lockstep " + line +
                   join(") COMP_CWORD=", words.size(),
                        "; _lockstep\nprintf '%s\\n' \"${COMPREPLY[@]}\"\n"));
    const std::string run = "bash -u " + folder / "complete.sh" + " > " + folder / "said";
    EXPECT_EQ(std::system(run.c_str()), 0);
    std::string said = read_file(folder / "said");
    std::replace(said.begin(), said.end(), '\n', ' ');
    return said.substr(0, said.find_last_not_of(' ') + 1);
  };
  write_file(folder / "my config.yaml", "");
  EXPECT_EQ(completed({"tr"}), "train");
  EXPECT_EQ(completed({"help", "tr"}), "train");
  EXPECT_EQ(completed({"train", "--res"}), "--resume");
  EXPECT_EQ(completed({"train", "my"}), "my config.yaml");
  EXPECT_EQ(completed({"train", "x.yaml", "SOLVER.B"}),
            "SOLVER.BASE_LR SOLVER.BETA1 SOLVER.BETA2 SOLVER.BIAS_LR_FACTOR");
  EXPECT_EQ(completed({"train", "x.yaml", "SOLVER.TYPE", "A"}), "Adagrad Adam AdamW");
  EXPECT_EQ(completed({"plan", "x.yaml", "--threads", "2", "SOLVER.LR_POLICY", "c"}),
            "cosine_decay");
  EXPECT_EQ(completed({"train", "x.yaml", "SOLVER.NESTEROV", ""}).substr(0, 10), "false true");
  EXPECT_EQ(completed({"train", "x.yaml", "--precision", "b"}), "bfloat16");
  EXPECT_EQ(completed({"train", "x.yaml", "PRECISION", "f"}), "float16 float32");
  EXPECT_EQ(completed({"train", "x.yaml", "MODEL.TYPE", "resnet1"}),
            "resnet101 resnet152 resnet18");
  EXPECT_EQ(completed({"test", "x.yaml", "MODEL.TYPE", "char_l"}), "char_lstm");
  EXPECT_EQ(completed({"train", "x.yaml", "DATA.NAME", "c"}), "cifar10");
  EXPECT_EQ(completed({"train", "x.yaml", "TRAIN.DATASETS", "[scenes"}), "[scenes_train]");
  EXPECT_EQ(completed({"train", "x.yaml", "MODEL.CONV_BODY", "FPN.add_fpn_ResNet50_conv5_b"}),
            "FPN.add_fpn_ResNet50_conv5_body");
  EXPECT_EQ(completed({"build", "resnet5"}), "resnet50 resnet50_keras");
  EXPECT_EQ(completed({"plan", "char_g"}), "char_gru");
  EXPECT_EQ(completed({"bench", "train-step", "--model", "vgg"}), "vgg16");
  EXPECT_EQ(completed({"infer", "resnet5"}), "");
  // Any text, so a file; no key comes where a value belongs.
  EXPECT_EQ(completed({"train", "x.yaml", "DATA.ROOT", "S"}), "");
  EXPECT_EQ(completed({"train", "x.yaml", "DATA.ROOT", "my"}), "my config.yaml");
  EXPECT_NE(run_lockstep({"completion", "zsh"}).out.find("bashcompinit"), std::string::npos);
  const std::string fish = run_lockstep({"completion", "fish"}).out;
  for (const char* part : {"-a train", "-a SOLVER.BASE_LR", "__lockstep_after SOLVER.TYPE",
                           "__lockstep_after PRECISION --precision' -a '"})
    EXPECT_NE(fish.find(part), std::string::npos) << part;
  expect_refused(run_lockstep({"completion", "csh"}), {"bash, zsh and fish", "'csh'"});
}

TEST_F(CommandTest, TheManualHoldsEveryHelpText) {
  const std::string page = run_lockstep({"manual"}).out;
  for (const char* part :
       {".TH LOCKSTEP 1", ".SS train", ".SS infer", "\\-\\-resume", ".SH EXIT STATUS"})
    EXPECT_NE(page.find(part), std::string::npos) << part;
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

// Drawing or reading data takes a while; what is wrong is said before.
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

// Frames of TensorBoard's files: length, its checksum, data, its checksum.
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
  EXPECT_EQ(frames, 1 + 12 * 4 + 2 + 3) << "scalars, then how the run began, ended, and pictures";
  for (const char* part :
       {"brain.Event:2", "test/pictures", "\x89PNG", "_hparams_/session_start_info",
        "SOLVER.BASE_LR", "_hparams_/session_end_info"})
    EXPECT_NE(events.find(part), std::string::npos) << part;
  EXPECT_EQ(events.find("SOLVER.NESTEROV"), std::string::npos) << "it is as it is by default";
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

// A file that may not grow ends no process by a signal.
TEST_F(CommandTest, ALimitOfFilesIsNamed) {
  const std::string command = "ulimit -f 8; exec " + shell_word(run_path()) + " train " + config() +
                              " OUTPUT_DIR " + (folder / "run") + " 2> " + (folder / "err") +
                              " > /dev/null";
  EXPECT_EQ(WEXITSTATUS(std::system(("bash -c " + shell_word(command)).c_str())), 2);
  EXPECT_NE(read_file(folder / "err").find("File too large"), std::string::npos);
}

// A terminal obeys escape codes; what files are called is shown, not obeyed.
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

TEST_F(CommandTest, MisspeltKeysGetFileLineAndTheNearestKey) {
  std::string path = config("DEVICES: cpu\nSOLVER:\n  BASE_LRR: 0.1\n");
  expect_refused(run_lockstep({"train", path}),
                 {path + ":3", "unknown key SOLVER.BASE_LRR", "did you mean SOLVER.BASE_LR?"});
  path = config("SOLVER:\n  BASE_LR: quick\n");
  expect_refused(run_lockstep({"train", path}),
                 {path + ":2", "SOLVER.BASE_LR should be a number", "quick"});
  path = config("TRAIN:\n  BATCH_SIZE: -4\n");
  expect_refused(run_lockstep({"train", path}), {path + ":2", "TRAIN.BATCH_SIZE is '-4'"});
  path = config("TRAIN: [1, 2\n");
  expect_refused(run_lockstep({"train", path}), {path + ":"});
  path = config("MODEL: {TYPE: lenett}\n");
  expect_refused(run_lockstep({"train", path}), {"no model 'lenett'", "'lenet'"});
  path = config("DEVICES: cpu*3\nTRAIN: {BATCH_SIZE: 2}\n");
  expect_refused(run_lockstep({"train", path}), {"TRAIN.BATCH_SIZE 2", "3 replicas"});
  path = config("WIRE: int8\n");
  expect_refused(run_lockstep({"train", path}), {path, "WIRE", "'int8'", "float16"});
  path = config("PRECISION: int8\n");
  expect_refused(run_lockstep({"train", path}), {path, "PRECISION", "'int8'", "bfloat16"});
  expect_refused(run_lockstep({"build", "lenet", "--precision", "half"}), {"'half'", "float16"});
  path = config("SOLVER: {LR_POLICY: cosine}\n");
  expect_refused(run_lockstep({"train", path}),
                 {path, "LR_POLICY 'cosine'", "did you mean 'cosine_decay'?", "Known: step "});
  path = config("TF32: float32\n");
  expect_refused(run_lockstep({"train", path}), {path, "TF32", "true or false"});
  path = config("TOPOLOGY: fast\n");
  expect_refused(run_lockstep({"train", path}), {path, "topology 'fast'", "latency:bandwidth"});
  path = config();
  expect_refused(run_lockstep({"train", path, "SOLVER.GAMA", "1"}),
                 {"SOLVER.GAMA", "SOLVER.GAMMA"});
  expect_refused(run_lockstep({"train", path, "SOLVER.GAMMA"}), {"SOLVER.GAMMA", "has no value"});
  expect_refused(run_lockstep({"train", path, "--devices", "tpu"}), {"tpu"});
  expect_refused(run_lockstep({"train", folder / "none.yaml"}), {"none.yaml"});
}

// 16 images over 3 replicas: 6, 5 and 5, weighted by themselves.
TEST_F(CommandTest, ABatchThatDoesNotDivideTrains) {
  const Outcome outcome =
      train("uneven", {"--devices", "cpu*3", "TRAIN.BATCH_SIZE", "16", "SOLVER.MAX_ITER", "5"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
}

TEST_F(CommandTest, GpuTrainingSaysWhatIsMissing) {
  expect_refused(train("run", {"--devices", "gpu*2"}), {"cannot run on gpu:0", "lockstep doctor"});
}

TEST_F(CommandTest, BadCommandLinesExitWithTwo) {
  EXPECT_EQ(run_lockstep({}).exit_code, 2);
  EXPECT_EQ(run_lockstep({"trian"}).exit_code, 2);
  EXPECT_EQ(run_lockstep({"inspect", "lenet", "--format", "pdf"}).exit_code, 2);
  EXPECT_EQ(run_lockstep({"plan", "lenet", "--batch", "0"}).exit_code, 2);
}

// Options are refused by the parser, but in the form of every other error.
TEST_F(CommandTest, RefusedOptionsAreOneLine) {
  const std::vector<std::vector<std::string>> lines{{},
                                                    {"--bogus"},
                                                    {"plan", "lenet", "--batch", "0"},
                                                    {"plan", "lenet", "--batch", "a\nb"},
                                                    {"doctor", "--bogus"},
                                                    {"train", "x.yaml", "--bogus"},
                                                    {"build"}};
  for (const auto& line : lines) {
    const Outcome outcome = run_lockstep(line);
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_EQ(outcome.err.rfind("lockstep: ", 0), 0U) << outcome.err;
    EXPECT_EQ(outcome.err.find('\n'), outcome.err.size() - 1) << outcome.err;
    EXPECT_NE(outcome.err.find("--help"), std::string::npos) << outcome.err;
    EXPECT_EQ(outcome.out, "");
  }
  EXPECT_NE(run_lockstep({"plan", "lenet", "--batch", "0"}).err.find("lockstep plan --help"),
            std::string::npos);
}

TEST_F(CommandTest, KeysAreFoundInLettersOfAnySize) {
  const Outcome small = run_lockstep({"keys", "clip"});
  EXPECT_EQ(small.exit_code, 0) << small.err;
  EXPECT_NE(small.out.find("SOLVER.CLIP_NORM"), std::string::npos) << small.out;
  EXPECT_EQ(small.out, run_lockstep({"keys", "CLIP"}).out);
  expect_refused(run_lockstep({"keys", "xyzzy"}), {"no key has 'xyzzy'"});
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
