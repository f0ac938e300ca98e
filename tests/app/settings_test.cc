// SPDX-License-Identifier: Apache-2.0
// One declaration of a key serves every command: the values it accepts, the values it refuses, and
// its flag.
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <set>

#include "app/arrays/config.h"
#include "app/classification/network.h"
#include "app/config/read.h"
#include "app/control/control_config.h"
#include "app/detection/config/detector_config.h"
#include "app/model_source.h"
#include "app/text/config.h"
#include "lockstep/loader.h"
#include "lockstep/operators.h"
#include "lockstep/session.h"
#include "runtime/plan/planned_memory.h"
#include "runtime/state/session_members.h"
#include "tests/support/expect_error.h"
#include "tests/support/training_command.h"
#include "tools/config_command.h"

namespace lockstep::testing {
namespace {

using SettingsTest = TrainingCommand;
using Words = std::vector<std::string>;

Words together(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// A value that no key of this kind accepts; "" for a string, which accepts any value.
std::string bad_value(const ConfigKey& key) {
  if (std::holds_alternative<std::string*>(key.target)) return "";
  if (std::holds_alternative<std::vector<std::string>*>(key.target)) return "{a: b}";
  if (key.key == "MODEL.TRAIN_BATCH_NORM") return ",";  // most texts are patterns
  return "no-such-value";
}

// A shell completes these words.
TEST_F(SettingsTest, WordsOfAKeyAreTakenAndAreInItsMeaning) {
  ClassificationConfig of_classes;
  DetectorConfig of_boxes;
  TextConfig of_text;
  ControlConfig of_actions;
  ArraysConfig of_arrays;
  int words = 0;
  for (ConfigKeys keys : {keys_of(of_classes), keys_of(of_boxes), keys_of(of_text),
                          keys_of(of_actions), keys_of(of_arrays)})
    for (const ConfigKey& key : keys)
      for (const std::string& word : words_of(key)) {
        SCOPED_TRACE(key.key + " " + word);
        EXPECT_NO_THROW(read_words(keys, {key.key, word}));
        EXPECT_EQ(text_of(key), word);
        ++words;
      }
  EXPECT_GT(words, 300);
  // The reader accepts any word for these keys; the check of the whole configuration refuses bad
  // words.
  for (const ConfigKey& key : keys_of(of_classes))
    for (const std::string& word : words_of(key)) {
      if (kind_of(key) != "a string") continue;
      EXPECT_NE(key.meaning.find(word), std::string::npos) << key.key << " " << word;
    }
}

TEST_F(SettingsTest, EveryCommandRefusesABadValueByItsKey) {
  ClassificationConfig config;
  const std::string path = this->config();
  const ConfigKeys keys = keys_of(config);
  for (const ConfigKey& key : keys) {
    const std::string bad = bad_value(key);
    if (bad.empty()) continue;
    SCOPED_TRACE(key.key);
    expect_error([&] { read_config(path, {key.key, bad}); }, "command line: " + key.key);
    if (!key.facts.flag.empty())
      expect_error(
          [&] {
            read_config(path, {key.facts.flag, bad});
          },
          key.facts.flag + ": ", key.key);
    if (key.facts.least < 0 || key.facts.least > 1) continue;
    const std::string kind = kind_of(key);
    const std::string low = kind.starts_with("a list")      ? "[-1]"
                            : kind.starts_with("a mapping") ? "{'*': -1}"
                                                            : "-1";
    expect_error(
        [&] {
          read_config(path, {key.key, low});
        },
        "command line: " + key.key, "should be at least");
  }
  expect_error(
      [&] {
        read_config(path, {"SOLVER.LR_POLICY", "stpe"});
      },
      "command line: SOLVER.LR_POLICY 'stpe'");
  // The binary gives the same errors, checked for some keys of each table.
  for (const char* command : {"train", "test", "build", "plan", "inspect"})
    for (const char* key : {"DEVICES", "PACKING", "WIRE", "PRECISION", "TOPOLOGY", "ALL_REDUCE",
                            "EMBEDDINGS", "RING_ORDER", "TRAIN.STATISTICS", "TRAIN.MICRO_BATCHES",
                            "SOLVER.CLIP_NORM", "DATA.FLIP", "MODEL.HIDDEN", "SOLVER.BASE_LR"})
      expect_refused(run_lockstep({command, path, key, "no-such-value"}),
                     {std::string("command line: ") + key, "no-such-value"});
}

TEST_F(SettingsTest, KeysOfAnotherTaskAreToldByTheType) {
  const std::string path = config("DEVICES: cpu*2\nMODEL: {TYPE: mlp, NUM_CLASSES: 10}\n");
  for (const char* command : {"train", "test", "build", "plan", "inspect"})
    expect_refused(run_lockstep({command, path, "MODEL.TYPE", "char_lstm"}),
                   {path + ":2: unknown key MODEL.NUM_CLASSES",
                    "MODEL.TYPE char_lstm (command line) selects the keys of `lockstep keys "
                    "--task text`, and this key is not among them"});
  // A key that no task has is reported without a hint to a task.
  const Outcome misspelt = run_lockstep({"train", path, "MODEL.HIDEN", "[8]"});
  expect_refused(misspelt, {"unknown key MODEL.HIDEN; did you mean MODEL.HIDDEN?"});
  EXPECT_EQ(misspelt.err.find("selects the keys"), std::string::npos) << misspelt.err;
}

// The help of these commands lists the flag, since they also accept a detector's configuration.
TEST_F(SettingsTest, AFlagOfDetectorsIsRefusedByName) {
  const std::string step = folder / "step.onnx";
  ASSERT_EQ(run_lockstep({"build", "mlp", "-o", step}).exit_code, 0);
  for (const std::string& source : {config(), std::string("mlp"), step})
    expect_refused(run_lockstep({"plan", source, "--image", "10x10"}),
                   {"lockstep: --image is only for a detector's CONFIG.yaml"});
  expect_refused(run_lockstep({"train", config(), "--image", "5"}),
                 {"--image is only for a detector's CONFIG.yaml"});
  EXPECT_NE(run_lockstep({"plan", "--help"}).out.find("detectors: height"), std::string::npos);
}

TEST_F(SettingsTest, EveryCommandTakesAConfigurationWithKeysBehindIt) {
  const std::string path = config(), step = folder / "step.onnx";
  const Words keys{"TRAIN.MICRO_BATCHES", "2", "PACKING",    "ready:1G:1G",
                   "SOLVER.MAX_ITER",     "1", "OUTPUT_DIR", folder / "run"};
  ASSERT_EQ(run_lockstep(together({"train", path}, keys)).exit_code, 0);
  Outcome built = run_lockstep(together({"build", path, "-o", step}, keys));
  ASSERT_EQ(built.exit_code, 0) << built.err;
  const Outcome seen = run_lockstep(together({"inspect", path, "--format", "text"}, keys));
  for (const std::string& file : {step, folder / "run/step.onnx"})
    EXPECT_EQ(seen.out, run_lockstep({"inspect", file, "--format", "text"}).out) << file;
  EXPECT_NE(seen.out.find("micro_1/data"), std::string::npos);
  for (const char* command : {"train", "test", "build", "plan", "inspect"}) {
    expect_refused(run_lockstep({command, path, "MICRO_BATCHES", "2"}),
                   {"unknown key MICRO_BATCHES; did you mean TRAIN.MICRO_BATCHES?"});
    expect_refused(run_lockstep({command, path, "PACKING"}), {"'PACKING' has no value"});
    expect_refused(
        run_lockstep({command, path, "TRAIN.BATCH_SIZE", "1"}),
        {"command line: TRAIN.BATCH_SIZE 1 is too small", "2 replicas of DEVICES cpu*2"});
    EXPECT_EQ(run_lockstep({command, path, "--no-such-flag", "1"}).exit_code, 2);
  }
  expect_refused(
      run_lockstep(
          {"build", path, "TRAIN.BATCH_SIZE", "17", "TRAIN.SYNC_BATCH_NORM", "true", "-o", step}),
      {"command line: TRAIN.SYNC_BATCH_NORM needs equal shares, but TRAIN.BATCH_SIZE 17"});
}

// The same file results from a key in a configuration, after a configuration, after a name, or as a
// flag.
TEST_F(SettingsTest, AFlagIsItsKeyByAnotherSpelling) {
  write_file(folder / "buckets.txt", run_lockstep({"inspect", "mlp", "--devices", "cpu*4",
                                                   "PACKING", "ready:1k:1M", "--format", "buckets"})
                                         .out);
  const std::map<std::string, std::string> values{{"DEVICES", "cpu*2"},
                                                  {"AUX_DEVICES", "cpu*2"},
                                                  {"ALL_REDUCE", "auto"},
                                                  {"RING_ORDER", "[0, 2, 1, 3]"},
                                                  {"PACKING", "ready:1k:1M"},
                                                  {"MERGE_SCOPE", "2"},
                                                  {"WIRE", "bfloat16"},
                                                  {"EMBEDDINGS", "sparse"},
                                                  {"PRECISION", "bfloat16"},
                                                  {"TOPOLOGY", "9ms:1G"},
                                                  {"BUCKETS", folder / "buckets.txt"},
                                                  {"THREADS", "2"},
                                                  {"MODEL.FREEZE", "[\"*_b\"]"},
                                                  {"TF32", "true"},
                                                  {"EXACT", "true"}};
  const auto built = [&](const std::string& source, const Words& words) {
    const bool gathers = words[0] == "AUX_DEVICES" || words[0] == "--aux-devices";
    const Words all{"--devices", "cpu*4", "ALL_REDUCE", gathers ? "psgpu" : "xring"};
    Words command{"build", source, "-o", folder / "step.onnx"};
    // Flags follow keys, and the last value wins.
    const bool its_own = words[0] == "DEVICES" || words[0] == "--devices" ||
                         words[0] == "ALL_REDUCE" || words[0] == "--all-reduce";
    command = together(std::move(command), its_own ? words : together(all, words));
    const Outcome outcome = run_lockstep(command);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return read_file(folder / "step.onnx");
  };
  ClassificationConfig config;
  for (const ConfigKey& key : keys_of(config)) {
    if (key.facts.flag.empty()) continue;
    // Only for a network in a file: tests/tools/parameters_command_test.cc.
    if (key.key == "MODEL.TRAIN" || key.key == "MODEL.TRAIN_BATCH_NORM") continue;
    SCOPED_TRACE(key.key);
    const std::string& value = values.at(key.key);
    const bool is_switch = std::holds_alternative<bool*>(key.target);
    const Words flag = is_switch ? Words{key.facts.flag} : Words{key.facts.flag, value};
    for (const std::string& source : {std::string("mlp"), this->config()})
      EXPECT_TRUE(built(source, {key.key, value}) == built(source, flag)) << source;
    EXPECT_TRUE(built(this->config(), {key.key, value}) ==
                built(this->config(std::string(kTrainingConfig) +
                                   (key.key == "DEVICES" || key.key == "THREADS"
                                        ? ""
                                        : key.key + ": " + value + "\n")),
                      {key.key, value}));
  }
  expect_refused(run_lockstep({"build", "mlp", "--ring-order", "0,x"}),
                 {"--ring-order: RING_ORDER should be a list of integers, is '0,x'"});
}

TEST_F(SettingsTest, AModelByNameTakesTheKeysOfTheStep) {
  const std::string step = folder / "step.onnx";
  const auto text = [&](const Words& words) {
    const Outcome outcome = run_lockstep(together({"inspect", "mlp", "--format", "text"}, words));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return outcome.out;
  };
  const std::string plain = text({});
  const std::vector<Words> cases{{"TRAIN.MICRO_BATCHES", "2"}, {"SOLVER.DEFERRED", "true"},
                                 {"SOLVER.CLIP_NORM", "1"},    {"SOLVER.SKIP_NON_FINITE", "true"},
                                 {"MODEL.FREEZE", "[fc1*]"},   {"SOLVER.WEIGHT_DECAY", "0.5"}};
  std::set<std::string> different{plain};
  for (const Words& words : cases) EXPECT_TRUE(different.insert(text(words)).second) << words[0];
  EXPECT_EQ(plain, text({"PACKING", "auto", "ALL_REDUCE", "collective", "PRECISION", "float32"}));
  for (const char* key : {"SOLVER.TYPE", "TRAIN.BATCH_SIZE", "MODEL.NUM_CLASSES"})
    for (const char* command : {"build", "plan", "inspect"})
      expect_refused(run_lockstep({command, "mlp", key, "2"}),
                     {std::string("command line: ") + key + " does not apply to mlp"});
  // A step from a file may only be placed on other devices.
  ASSERT_EQ(run_lockstep({"build", "mlp", "DEVICES", "cpu*2", "-o", step}).exit_code, 0);
  EXPECT_NE(run_lockstep({"plan", step, "THREADS", "2"}).out.find("2 threads each"),
            std::string::npos);
  EXPECT_EQ(run_lockstep({"inspect", step, "--devices", "cpu*2"}).exit_code, 0);
  expect_refused(run_lockstep({"inspect", step, "--devices", "cpu*3"}),
                 {step, "the step has 2 replicas, but DEVICES names 3"});
  EXPECT_EQ(run_lockstep({"inspect", step, "--where", "--format", "text"}).exit_code, 0);
  expect_refused(run_lockstep({"inspect", step, "--where"}),
                 {"--where is only for --format text, not summary"});
  expect_refused(
      run_lockstep({"plan", step, "--wire", "float16"}),
      {"WIRE does not apply to " + step,
       "accepts keys of the run (DEVICES, AUX_DEVICES, THREADS, TF32, EXACT, RECORD) only"});
  RunSettings run{.devices = devices_named("cpu*2")};
  for (const ConfigKey& key : keys_of(run))
    EXPECT_EQ(run_lockstep({"inspect", step, key.key, text_of(key)}).exit_code, 0) << key.key;
}

// Threads, rows of each replica, packing: the plan equals the plan that a session of the
// configuration compiles.
TEST_F(SettingsTest, ThePlanOfAConfigurationIsTheOneThatTrains) {
  const std::string path = config();
  for (const Words& keys :
       {Words{}, Words{"TRAIN.BATCH_SIZE", "17"},
        Words{"TRAIN.MICRO_BATCHES", "2", "TRAIN.BATCH_SIZE", "18"}, Words{"--threads", "2"},
        Words{"THREADS", "0", "PACKING", "ready:1k:1M"}, Words{"DEVICES", "cpu*3"}}) {
    SCOPED_TRACE(keys.empty() ? "as it is" : keys[0]);
    const ClassificationConfig config = read_config(path, keys);
    const TrainingModel model = build_configured_model(config);
    Session session(model, config.run.devices.list, all_kernels(),
                    session_options(config, config.run.threads, nullptr));
    const auto batch = static_cast<std::size_t>(config.batch_size);
    std::vector<float> images(batch * 28 * 28);
    std::vector<int64_t> labels(batch);
    Feeds feeds(model);
    feeds.set("data", {{DType::float32, {config.batch_size, 1, 28, 28}}, images.data()});
    feeds.set("label", {{DType::int64, {config.batch_size}}, labels.data()});
    feeds.set(Role::rate, 0.1F);
    if (feeds.has(Role::correction)) feeds.set(Role::correction, 1);
    const Outcome planned = run_lockstep(together({"plan", path}, keys));
    const Plan& plan = plan_of(session.step(), feeds.tensors());
    PlannedMemory memory = planned_memory(plan);
    for (const Tensor& feed : feeds.tensors()) memory.loader += Loader::kAhead * feed.desc.bytes();
    EXPECT_EQ(planned.out, text_of(plan) + "predicted memory " + text_of(memory) + "\n")
        << planned.err;
  }
  const auto planned = [&](const Words& words) {
    return run_lockstep(together({"plan", path}, words)).out;
  };
  EXPECT_EQ(planned({"--batch", "16"}), planned({"TRAIN.BATCH_SIZE", "32"}));
  EXPECT_NE(planned({"--batch", "16"}), planned({}));
  EXPECT_EQ(planned({"--inference", "--devices", "cpu*2"}), planned({"--inference"}));
}

TEST_F(SettingsTest, WhatIsPrintedReadsBackTheSame) {
  for (const auto& [key, text, shown] :
       std::vector<std::tuple<const char*, const char*, const char*>>{
           {"PACKING", "none", "none"},
           {"PACKING", "ready:1024k:25M", "ready:1M:25M"},
           {"PACKING", "ray:10000000", "ray:10000000"},
           {"PACKING", "tf_cnn:4k:10", "tf_cnn:4k:10"},
           {"PACKING", "auto", "auto"},
           {"TOPOLOGY", "", ""},
           {"TOPOLOGY", "30us:1.2G", "30us:1.2G"},
           {"TOPOLOGY", "2us:10G/0.04ms:1200M", "2us:10G/0.04ms:1.2G"},
           {"TOPOLOGY", "2us:10G/40us:1200M", "2us:10G/40us:1.2G"},
           {"TOPOLOGY", "1000ms:7K", "1000ms:7K"},
           {"TOPOLOGY", "0.1ns:1K", "0.1ns:1K"},
           {"ALL_REDUCE", "pscpu:32k:xring#2", "pscpu:32768:xring#2"},
           {"TRAIN.STATISTICS", "first", "first"},
           {"WIRE", "bfloat16", "bfloat16"},
           {"DEVICES", "cpu*2", "cpu*2"}}) {
    const ClassificationConfig config = read_config(this->config(), {key, text});
    const auto entry = [&, name = key](const ClassificationConfig& of) {
      for (const auto& [other, value] : of.entries())
        if (other == name) return value;
      return std::string("none");
    };
    EXPECT_EQ(entry(config), shown) << key;
    EXPECT_EQ(entry(read_config(this->config(), {key, entry(config)})), shown) << key;
  }
}

TEST_F(SettingsTest, AFlagTakesOneValue) {
  const auto plan = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"inspect", config(), "--format", "summary"});
    return run_lockstep(more);
  };
  EXPECT_EQ(plan({"--tf32=false"}).exit_code, 0);
  EXPECT_EQ(plan({"--tf32=maybe"}).exit_code, 2);
  expect_refused(plan({"--tf32", "false"}), {"'false' has no value"});
  expect_refused(plan({"--packing", "best"}), {"'best'", "ready", "'auto'"});
  expect_refused(run_lockstep({"build", "lenet", "--all-reduce", "-o", folder / "y.onnx"}),
                 {"--all-reduce has no value; '-o' is an option"});
  expect_refused(run_lockstep({"build", "lenet", "--devices", "cpu:0,gpu:1"}),
                 {"must be of one kind, not cpu:0 and gpu:1"});
  expect_refused(run_lockstep({"build", "lenet", "--train-batch-norm"}), {"--train-batch-norm"});
}

// The value of a switch is the value of its key.
TEST(KeyWordsOfAnApp, ASwitchMayBeFalse) {
  for (const std::string value : {"true", "false"}) {
    CLI::App app;
    KeyWords words(app);
    app.parse("--tf32=" + value);
    EXPECT_EQ(words.all(), (std::vector<std::string>{"--tf32", value}));
  }
}

}  // namespace
}  // namespace lockstep::testing
