// SPDX-License-Identifier: Apache-2.0
// The files of a configuration: bases, files that are no configuration, and characters that no text
// may contain.
#include <gtest/gtest.h>

#include "app/classification/config.h"
#include "app/config/read.h"
#include "app/control/control_config.h"
#include "app/detection/config/detector_config.h"
#include "app/detection/config/types.h"
#include "app/task_kind.h"
#include "app/text/config.h"
#include "tests/support/expect_error.h"
#include "tests/support/training_command.h"

namespace lockstep::testing {
namespace {

class ConfigFilesTest : public TrainingCommand {
 protected:
  std::string file(const std::string& name, const std::string& text) {
    const std::string path = folder / name;
    make_folder(path.substr(0, path.rfind('/')));
    write_file(path, text);
    return path;
  }
  ClassificationConfig read(const std::string& path, Origins& origins) {
    return read_config(config_files(path), {}, 1, origins);
  }
};

TEST_F(ConfigFilesTest, ALaterBaseOverridesAnEarlierOneAndTheFileOverridesAll) {
  file("solver.yaml", "SOLVER:\n  BASE_LR: 0.5\n  GAMMA: 0.5\n  MAX_ITER: 5\n");
  file("more/deep.yaml", "_BASE_: ../solver.yaml\nSOLVER.GAMMA: 0.25\n");
  file("data.yaml", "TRAIN: {BATCH_SIZE: 8}\nSOLVER: {MAX_ITER: 7}\n");
  const std::string path =
      file("x.yaml", "_BASE_: [more/deep.yaml,\n  data.yaml]\nSOLVER:\n  BASE_LR: 0.125\n");
  Origins origins;
  const ClassificationConfig config = read(path, origins);
  EXPECT_EQ(config.schedule.base_lr, 0.125);
  EXPECT_EQ(config.schedule.gamma, 0.25);
  EXPECT_EQ(config.schedule.max_iter, 7);
  EXPECT_EQ(config.batch_size, 8);
  EXPECT_EQ(origins.of("SOLVER.BASE_LR"), path + ":4");
  EXPECT_EQ(origins.of("SOLVER.GAMMA"), "base " + (folder / "more/deep.yaml") + ":2");
  EXPECT_EQ(origins.of("SOLVER.MAX_ITER"), "base " + (folder / "data.yaml") + ":2");
  // Bases are read in the order of the list.
  file("x.yaml", "_BASE_:\n- data.yaml\n- more/deep.yaml\n");
  EXPECT_EQ(read(path, origins).schedule.max_iter, 5);
  // Two other bases share this base.
  file("y.yaml", "_BASE_: [more/deep.yaml, solver.yaml]\n");
  EXPECT_EQ(read(folder / "y.yaml", origins).schedule.gamma, 0.5);
  // The last file that names a task decides.
  file("lm.yaml", "MODEL: {TYPE: char_gru}\n");
  file("x.yaml", "_BASE_: [lm.yaml, data.yaml]\nMODEL: {TYPE: mlp}\n");
  EXPECT_EQ(read(path, origins).model, "mlp");
  // Every command reads bases. The run's own configuration is a single file without bases.
  file("config.yaml", std::string(kTrainingConfig) + "_BASE_: [data.yaml]\n");
  ASSERT_EQ(run_lockstep({"train", folder / "config.yaml", "OUTPUT_DIR", folder / "run",
                          "SOLVER.MAX_ITER", "1"})
                .exit_code,
            0);
  EXPECT_EQ(read_file(folder / "run/config.yaml").find("_BASE_"), std::string::npos);
}

TEST_F(ConfigFilesTest, WhatIsNoBaseIsNamedWithItsFileAndLine) {
  const std::string path = folder / "x.yaml";
  file("good.yaml", "TRAIN: {BATCH_SIZE: 8}\n");
  const auto refused = [&](const std::string& text, const auto&... parts) {
    SCOPED_TRACE(text);
    file("x.yaml", text);
    expect_error([&] { config_files(path); }, parts...);
  };
  for (const char* nothing : {"_BASE_:\n", "_BASE_: ~\n", "_BASE_: ''\n", "_BASE_: None\n"})
    refused(std::string("DEVICES: cpu\n") + nothing,
            path + ":2: _BASE_ should be a file or a list of files");
  refused("_BASE_: {a: b}\n", path + ":1: _BASE_ should be a file or a list of files", "a section");
  refused("_BASE_: []\n", path + ":1: _BASE_ is an empty list");
  refused("_BASE_:\n- good.yaml\n-\n", path + ":", "_BASE_ should be a file");
  refused("_BASE_:\n- good.yaml\n- [a]\n", path + ":3: _BASE_ should be a file", "a list");
  refused("_BASE_:\n- good.yaml\n- none.yaml\n", path + ":3: _BASE_: cannot read ", "none.yaml");
  file("a.yaml", "_BASE_: [good.yaml, x.yaml]\n");
  refused("DEVICES: cpu\n_BASE_:\n- good.yaml\n- a.yaml\n",
          (folder / "a.yaml") + ":1: _BASE_ includes files in a circle: " + path + " -> " +
              (folder / "a.yaml") + " -> ");
  // An error in a base names the base's file.
  file("bad.yaml", "DEVICES: cpu\nTRAIN: {BATCH_SIZ: 8}\n");
  file("x.yaml", "_BASE_: [good.yaml, bad.yaml]\n");
  Origins origins;
  expect_error([&] { read(path, origins); }, (folder / "bad.yaml") + ":2: unknown key");
  // Each file names the file before it twice, so the number of reads doubles with each file.
  file("0.yaml", "DEVICES: cpu\n");
  for (int i = 1; i < 30; ++i)
    file(join(i, ".yaml"), join("_BASE_: [", i - 1, ".yaml, ", i - 1, ".yaml]\n"));
  expect_error([&] { config_files(folder / "29.yaml"); }, "more than 256 files");
}

TEST_F(ConfigFilesTest, AConfigurationIsOneDocumentThatSetsAKey) {
  const std::string path = folder / "config.yaml";
  const auto refused = [&](const std::string& text, const auto&... parts) {
    SCOPED_TRACE(text);
    for (const char* command : {"train", "test", "plan", "build", "inspect"})
      expect_refused(run_lockstep({command, config(text)}), {parts...});
  };
  refused("", path + ":1: sets no key");
  refused("DEVICES: cpu\n---\nDEVICES: cpu*2\n", path + ":2: a second document begins here");
  for (const char* text : {"# nothing yet\n", "---\n...\n", "{}\n", "~\n"}) {
    config(text);
    expect_error([&] { read_config(path, {}); }, path + ":1: sets no key", "lockstep keys");
  }
  config("DEVICES: cpu\n---\n");
  expect_error([&] { read_config(path, {}); }, path + ":2: a second document");
  config("- a\nDEVICES: cpu\n");
  expect_error([&] { read_config(path, {}); }, path + ":2: this line belongs to nothing above");
  // A configuration may have the markers of one YAML document.
  read_config(config("%YAML 1.2\n---\nDEVICES: cpu\n...\n# the end\n"), {});
  file("empty.yaml", "# later\n");
  config("_BASE_: empty.yaml\nDEVICES: cpu\n");
  expect_error([&] { read_config(path, {}); }, (folder / "empty.yaml") + ":1: sets no key");
}

TEST_F(ConfigFilesTest, WhatIsNoYamlIsToldInPlainWords) {
  const std::string path = folder / "config.yaml";
  const auto refused = [&](const std::string& text, const std::string& why) {
    SCOPED_TRACE(text);
    config(text);
    expect_error([&] { read_config(path, {}); }, path + why);
  };
  refused("SOLVER:\n\tBASE_LR: 0.1\n", ":2: a tab indents this line; YAML indents with spaces");
  refused("SOLVER:\n  GAMMA: 1\n\tBASE_LR: 0.1\n", ":3: a tab indents this line");
  refused("DEVICES: cpu\n\tTHREADS: 1\n", ":2: a tab indents this line");
  refused("# Lockstep\n\nOne binary.\nIts use: much\n", ":4: no value can begin at this ':'");
  refused("SOLVER:\n    GAMMA: 1\n  BASE_LR: 0.1\n", ":3: this line is neither KEY: VALUE nor");
  refused("RING_ORDER: [0, 1\nTHREADS: 1\n", ":2: a [ has no ]");
  refused("DATA: {NAME: digits\nTHREADS: 1\n", ":2: a { has no }");
  refused("MODEL.FREEZE: [*.bias]\n", ":1: an alias (*NAME) has no anchor");
  refused("DATA.ROOT: \"C:\\data\"\n", ":1: a \\ in double quotes begins an unknown escape");
  refused("DATA.ROOT: @home\n", ":1: no value begins with this character");
  expect_error(
      [&] {
        read_config(config(), {"SOLVER.STEPS", "[0, 10"});
      },
      "command line: SOLVER.STEPS is '[0, 10': a [ has no ]");
}

bool is_list(const ConfigKey& key) { return kind_of(key) == "a list of strings"; }
bool holds_text(const ConfigKey& key) { return kind_of(key) == "a string" || is_list(key); }

TEST(ControlCharacters, AreRefusedInEveryTextThatAKeyMayHold) {
  struct Character {
    const char *escape, *raw, *shown;
  };
  const Character characters[] = {{"\\n", "\n", "\\n"},
                                  {"\\t", "\t", "\\t"},
                                  {"\\r", "\r", "\\r"},
                                  {"\\e", "\x1b", "\\x1b"},
                                  {"\\x01", "\x01", "\\x01"},
                                  {"\\x7f", "\x7f", "\\x7f"},
                                  {"\\x9b", "\xc2\x9b", "\\xc2\\x9b"},
                                  {"\\0", "", "\\x00"}};
  ClassificationConfig of_classes;
  DetectorConfig of_boxes;
  TextConfig of_text;
  ControlConfig of_actions;
  int texts = 0;
  for (ConfigKeys keys :
       {keys_of(of_classes), keys_of(of_boxes), keys_of(of_text), keys_of(of_actions)})
    for (const ConfigKey& key : keys) {
      if (!holds_text(key)) continue;
      ++texts;
      SCOPED_TRACE(key.key);
      const std::string before = text_of(key);
      for (const auto& [escape, raw, shown] : characters) {
        const std::string said = join("contains the control character ", shown, ",");
        const std::string in_yaml =
            is_list(key) ? join("[x, \"a", escape, "b\"]") : join("\"a", escape, "b\"");
        expect_error([&] { read_yaml(keys, join("# \n", key.key, ": ", in_yaml, "\n"), "c.yaml"); },
                     "c.yaml:2: \"a", said);
        if (is_list(key))
          expect_error(
              [&] {
                read_words(keys, {key.key, in_yaml});
              },
              "command line: " + key.key, said);
        const std::string word = join("a", raw, "b");
        if (*raw == '\0' || is_list(key)) continue;
        expect_error([&] { read_words(keys, {key.key, word}); }, "command line: " + key.key, said);
        if (!key.facts.flag.empty())
          expect_error([&] { read_words(keys, {key.facts.flag, word}); }, key.facts.flag, said);
      }
      EXPECT_EQ(text_of(key), before);
    }
  EXPECT_GT(texts, 60);
}

TEST(ControlCharacters, AreRefusedInNamesOfKeysAndSections) {
  DetectorConfig config;
  ConfigKeys keys = keys_of(config);
  for (const char* text : {"\"DEV\\0ICES\": cpu\n", "DATASETS: {\"a\\0b\": {IMAGES: x}}\n",
                           "DATASETS: {mine: {IMAGES: \"a\\0b\"}}\n",
                           "DATASETS: {mine: {\"IMAG\\0ES\": x}}\n", "A: [[{b: \"\\0\"}]]\n"})
    expect_error([&] { read_yaml(keys, text, "c.yaml"); }, "c.yaml:1: ", "control character \\x00");
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"DATASETS.a\nb.IMAGES", "x"},
        {"DATASETS.mine.IMAGES", "x\n"},
        {"DATASETS", "{mine: {IMAGES: \"a\\nb\"}}"},
        {"DEV\nICES", "cpu"}})
    expect_error([&] { read_words(keys, words); }, "command line", "control character \\n");
}

// The type selects the table of keys, so it is read before all other keys.
TEST_F(ConfigFilesTest, ATypeWithALineFeedForgesNoLine) {
  const std::string type = "mlp\nlockstep: all is well";
  const Outcome word = run_lockstep({"train", config(), "MODEL.TYPE", type});
  expect_refused(word, {"command line: MODEL.TYPE: \"mlp\\nlockstep", "control character \\n"});
  EXPECT_EQ(word.err.find("\nlockstep"), std::string::npos);
  const Outcome in_file = run_lockstep(
      {"train", config("MODEL:\n  TYPE: |\n    mlp\n    lockstep: all is well\nDEVICES: cpu\n")});
  expect_refused(in_file, {"config.yaml:2: \"mlp\\nlockstep", "control character \\n"});
  // A list on a command line is YAML as well, and may have several lines.
  EXPECT_EQ(read_config(config(), {"MODEL.HIDDEN", "[8,\n 16]"}).hidden,
            (std::vector<int64_t>{8, 16}));
  expect_error([&] { read_config(config(), {"MODEL.HIDDEN", "[8,\n x]"}); }, "is '[8,\\n x]'");
}

// A pattern with a NUL once matched the folder itself, endlessly.
TEST_F(ConfigFilesTest, ATextFileWithANulInItsNameIsRefusedAtOnce) {
  file("texts/a.txt", "some text");
  const std::string text = "MODEL: {TYPE: char_rnn}\nDATA:\n  FILES: [\"*/\\0*\"]\n";
  expect_refused(run_lockstep({"train", config(text), "DATA.ROOT", folder.path()}),
                 {"config.yaml:3: ", "control character \\x00"});
  expect_refused(run_lockstep({"train", config("OUTPUT_DIR: \"runs/a\\0b\"\n")}),
                 {"config.yaml:1: ", "\"runs/a\\x00b\""});
}

TEST_F(ConfigFilesTest, OfARunAreReadByTheSameRule) {
  ASSERT_EQ(train("run", {"SOLVER.MAX_ITER", "1"}).exit_code, 0);
  const std::string stored = folder / "run/config.yaml";
  write_file(stored, read_file(stored) + "MODEL.WEIGHTS: \"a\\0b\"\n");
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"train", stored, "--resume", folder / "run"},
        {"infer", folder / "run", stored},
        {"test", stored}})
    expect_refused(run_lockstep(words), {"run/config.yaml:", "\"a\\x00b\"", "control character"});
}

}  // namespace
}  // namespace lockstep::testing
