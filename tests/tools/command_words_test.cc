// SPDX-License-Identifier: Apache-2.0
// The words of a command line: help, names with typos, keys, completion.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "graph/file.h"
#include "lockstep/error.h"
#include "tests/support/training_command.h"

namespace lockstep::testing {
namespace {

namespace fs = std::filesystem;

using CommandTest = TrainingCommand;

TEST_F(CommandTest, EveryCommandHasHelpWithAnExample) {
  for (const char* command : {"train", "test", "infer", "export", "build", "inspect", "plan", "run",
                              "step", "bench", "launch", "scenes", "doctor", "simulate"}) {
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
  EXPECT_EQ(run_lockstep({"help", "bench", "conv"}).out,
            run_lockstep({"bench", "conv", "--help"}).out);
  expect_refused(run_lockstep({"help", "trian"}), {"'trian', did you mean 'train'?"});
  expect_refused(run_lockstep({"help", "bench", "conv", "extra"}),
                 {"help: 'lockstep bench conv' has no subcommand 'extra'"});
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
  expect_refused(run_lockstep({"infer", "x.onnx", "y.png", "--threshold", "nan"}),
                 {"--threshold is nan, should be from 0 to 1"});
  expect_refused(run_lockstep({"infer", "x.onnx", "y.txt", "--temperature", "nan"}),
                 {"--temperature is nan, should be from 0 to 100"});
  expect_refused(run_lockstep({"train", path, "--xyzzy", "1"}), {"unknown option '--xyzzy'; "});
  expect_refused(run_lockstep({"launch", "-n", "4097", "--", "true"}),
                 {"-n 4097: should be from 1 to 4096"});
  expect_refused(run_lockstep({"test", path, "--out", ""}), {"--out is empty; name a folder"});
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
  // A value may contain an equals sign.
  EXPECT_EQ(
      run_lockstep({"train", config(), "OUTPUT_DIR", folder / "lr=0.1", "SOLVER.MAX_ITER", "1"})
          .exit_code,
      0);
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
  EXPECT_EQ(completed({"plan", "resnet3"}), "resnet34");
  EXPECT_EQ(completed({"plan", "char_g"}), "") << "plan refuses it";
  EXPECT_EQ(completed({"diff", "resnet50", "resnet3"}), "resnet34");
  EXPECT_EQ(completed({"diff", "resnet50", "resnet50", "--in-b", "SOLVER.CLIP_N"}),
            "SOLVER.CLIP_NORM");
  EXPECT_EQ(completed({"bench", "train-step", "--model", "ls"}), "lstm");
  EXPECT_EQ(completed({"help", "bench", "con"}), "conv");
  EXPECT_EQ(completed({"launch", "--", "lockstep", "help", "tr"}), "train");
  EXPECT_EQ(completed({"bench", "tr"}), "train-step trace-cost");
  EXPECT_EQ(completed({"bench", "train-step", "--model", "vgg"}), "vgg16");
  EXPECT_EQ(completed({"bench", "train-step", "--feed", "a"}), "ahead");
  EXPECT_EQ(completed({"bench", "plan-growth", "--"}), "--help --nodes --json");
  EXPECT_EQ(completed({"infer", "resnet5"}), "");
  // The value is any text, so files are completed; a key is not completed in a value's position.
  EXPECT_EQ(completed({"train", "x.yaml", "DATA.ROOT", "S"}), "");
  EXPECT_EQ(completed({"train", "x.yaml", "DATA.ROOT", "my"}), "my config.yaml");
  // An option with few values completes them, and folders where a path may follow.
  EXPECT_EQ(completed({"keys", "--task", ""}), "classification detection text control arrays");
  EXPECT_EQ(completed({"inspect", "x.onnx", "--format", "t"}), "text");
  fs::create_directories(folder / "runs of mine/c");
  EXPECT_EQ(completed({"train", "x.yaml", "--resume", ""}), "auto runs of mine");
  EXPECT_EQ(completed({"train", "x.yaml", "--resume", "runs of mine/"}), "runs of mine/c");
  EXPECT_EQ(completed({"train", "x.yaml", "--resume", "SOLVER.BASE"}), "SOLVER.BASE_LR");
  // A command inside launch is completed like a separate command line.
  EXPECT_EQ(completed({"launch", "--pro"}), "--processes");
  EXPECT_EQ(completed({"launch", "-n", "2", "--", "lockst"}).substr(0, 8), "lockstep");
  EXPECT_NE((" " + completed({"launch", "-n", "2", "--", "cp"}) + " ").find(" cp "),
            std::string::npos);
  EXPECT_EQ(completed({"launch", "-n", "2", "--", "lockstep", "tr"}), "train");
  EXPECT_EQ(completed({"launch", "--", "bin/lockstep", "train", "x.yaml", "SOLVER.TYPE", "A"}),
            "Adagrad Adam AdamW");
  EXPECT_EQ(completed({"launch", "--", "lockstep", "keys", "--task", "c"}),
            "classification control");
  EXPECT_EQ(completed({"launch", "--", "lockstep", "train", "my"}), "my config.yaml");
  EXPECT_EQ(completed({"launch", "--", "cp", "my"}), "my config.yaml");
  const std::string zsh = run_lockstep({"completion", "zsh"}).out;
  EXPECT_NE(zsh.find("bashcompinit"), std::string::npos);
  // zsh also runs the script as a function from a folder of completions, at the first Tab.
  EXPECT_TRUE(zsh.starts_with("#compdef lockstep\n"));
  EXPECT_TRUE(
      zsh.ends_with("-F _lockstep lockstep\n"
                    "[ \"${funcstack[1]}\" != _lockstep ] || "
                    "_bash_complete -o filenames -F _lockstep\n"));
  const std::string fish = run_lockstep({"completion", "fish"}).out;
  for (const char* part : {"-a train", "-a SOLVER.BASE_LR", "__lockstep_after SOLVER.TYPE",
                           "__lockstep_after PRECISION --precision' -a '",
                           "from keys; and __lockstep_after --task' -a 'classification detection",
                           "__lockstep_after --resume' -a 'auto (__fish_complete_directories)'"})
    EXPECT_NE(fish.find(part), std::string::npos) << part;
  expect_refused(run_lockstep({"completion", "csh"}), {"bash, zsh and fish", "'csh'"});
}

TEST_F(CommandTest, TheManualHoldsEveryHelpText) {
  const std::string page = run_lockstep({"manual"}).out;
  for (const char* part :
       {".TH LOCKSTEP 1", ".SS train", ".SS infer", "\\-\\-resume", ".SH EXIT STATUS"})
    EXPECT_NE(page.find(part), std::string::npos) << part;
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
  expect_refused(run_lockstep({"train", path}),
                 {path + ":1: MODEL.TYPE 'lenett' is not known; did you mean lenet?"});
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

TEST_F(CommandTest, BadCommandLinesExitWithTwo) {
  EXPECT_EQ(run_lockstep({}).exit_code, 2);
  EXPECT_EQ(run_lockstep({"trian"}).exit_code, 2);
  EXPECT_EQ(run_lockstep({"inspect", "lenet", "--format", "pdf"}).exit_code, 2);
  EXPECT_EQ(run_lockstep({"plan", "lenet", "--batch", "0"}).exit_code, 2);
}

// The parser refuses options, in the form of every other error.
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

}  // namespace
}  // namespace lockstep::testing
