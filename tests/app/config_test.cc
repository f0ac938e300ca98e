// SPDX-License-Identifier: Apache-2.0
// Reads, writes and explains the configuration.
#include "app/classification/config.h"

#include <gtest/gtest.h>

#include "app/train/checkpoint_keys.h"
#include "tests/support/expect_error.h"
#include "tests/support/training_command.h"

namespace lockstep::testing {
namespace {

using ConfigTest = TrainingCommand;

TEST_F(ConfigTest, IsWrittenSoThatItReadsBackTheSame) {
  for (const char* text : {"plain", "", "~", "true", "12", "1e5", "a: b", "#no comment", "- item",
                           "*alias", "a#b c", "\"quoted\" \\ back", "grün", "[1, 2]", "ends:"}) {
    ClassificationConfig config = read_config(this->config(), {"DATA.CROP_SCALE", "[0.1, 0.7]"});
    config.data_root = config.output_dir = text;
    config.step.options.frozen = {text, "*.bias"};
    config.step.options.rules.rates = {{text, 0.1F}, {"conv?.*", 2}};
    config.schedule.base_lr = 1.0 / 3;
    config.optimizer.momentum = 0.9F;
    config.schedule.lrs = {1e-7, 2.5};
    write_file(folder / "again.yaml", config.yaml());
    const ClassificationConfig again = read_config(folder / "again.yaml", {});
    EXPECT_EQ(again.entries(), config.entries()) << config.yaml();
    EXPECT_EQ(again.schedule.base_lr, config.schedule.base_lr);
  }
}

TEST_F(ConfigTest, HasNumbersAsPeopleWriteThem) {
  const std::string text = ClassificationConfig().yaml();
  for (const char* line : {"  MOMENTUM: 0.9\n", "  WEIGHT_DECAY: 0.0001\n", "  GAMMA: 0.1\n",
                           "  CROP_SCALE: [0.08, 1]\n", "\nSOLVER:\n  BASE_LR: 0.001\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
}

TEST_F(ConfigTest, OfARunTrainsTheSameRun) {
  ASSERT_EQ(train("run", {"SOLVER.BASE_LR", "0.013", "SOLVER.MAX_ITER", "9"}).exit_code, 0);
  ASSERT_EQ(run_lockstep({"train", folder / "run/config.yaml"}).exit_code, 0);
  EXPECT_TRUE(checkpoint("run") == checkpoint("run.2"));
  EXPECT_EQ(read_file(folder / "run/config.yaml"), read_file(folder / "run.2/config.yaml"));
}

TEST_F(ConfigTest, ThreadsThatCannotBeStartedAreNamed) {
  const ProgramOptions narrow{.address_limit = 1L << 30};
  expect_refused(train("run", {"DEVICES", "cpu*1024", "TRAIN.BATCH_SIZE", "1024"}, narrow),
                 {"of 1024 threads could be started, 1 (THREADS) for each of 1024"});
  expect_refused(train("run", {"THREADS", "1024", "MODEL.HIDDEN", "[1000]"}, narrow),
                 {"of 2048 threads could be started, 1024 (THREADS) for each of 2"});
}

TEST_F(ConfigTest, HasFactorsByName) {
  const std::vector<PatternFactor> wanted{{"conv1.*", 0.1F}, {"*", 1}, {"fc_?", 0}};
  EXPECT_EQ(read_config(config("SOLVER: {RATES: {\"conv1.*\": 0.1, \"*\": 1, \"fc_?\": 0}}\n"), {})
                .step.options.rules.rates,
            wanted);
  EXPECT_EQ(read_config(config(), {"SOLVER.DECAYS", "{conv1.*: 0.1, \"*\": 1, \"fc_?\": 0}"})
                .step.options.rules.decays,
            wanted);
  EXPECT_TRUE(read_config(config("SOLVER: {RATES: {}}\n"), {}).step.options.rules.rates.empty());
  for (const char* value : {"{a: b}", "{a: [1]}", "0.1", "[a, 0.1]"})
    expect_error(
        [&] {
          read_config(config(), {"SOLVER.RATES", value});
        },
        "SOLVER.RATES", "should be a mapping of patterns to numbers");
  expect_error(
      [&] {
        read_config(config(), {"SOLVER.RATES", "{a: -1}"});
      },
      "SOLVER.RATES is '-1', should be at least 0");
  expect_refused(train("run", {"SOLVER.RATES", "{conv9*: 0.1}"}),
                 {"learning rates by name (SOLVER.RATES)", "conv9*"});
  expect_refused(train("run", {"TRAIN.EMA", "1"}),
                 {"TRAIN.EMA is '1', should be at most 0.999999"});
}

TEST_F(ConfigTest, ATextMayBeNone) {
  EXPECT_EQ(read_config(config("WIRE: ~\nMODEL: {ONNX: }\n"), {}).step.options.all_reduce.wire,
            DType::undefined);
  expect_error([&] { read_config(config("WIRE: [a]\n"), {}); }, "WIRE should be a string");
  expect_error([&] { read_config(config("PIECES: ~\n"), {}); }, "PIECES should be an integer");
}

TEST_F(ConfigTest, WhatIsNoKeyIsNamedWithItsLine) {
  auto read = [&](const std::string& text) { read_config(config(text), {}); };
  expect_error([&] { read("DEVICES: cpu\n? [a, b]\n: 1\n"); }, "config.yaml:2", "'[a, b]'");
  expect_error([&] { read("? {a: b}\n: 1\n"); }, "config.yaml:1", "a key should be a string");
  expect_error([&] { read("DEVICES: cpu\nTRAIN: {BATCH_SIZE: 8}\nDEVICES: cpu*2\n"); },
               "config.yaml:3: DEVICES is already set in line 1");
  expect_error([&] { read("TRAIN: {BATCH_SIZE: 8}\nTRAIN: {LOG_ITERS: 9}\n"); },
               "config.yaml:2: TRAIN is already set in line 1");
  expect_error([&] { read("TRAIN: {BATCH_SIZE: 8}\nTRAIN.BATCH_SIZE: 9\n"); },
               "config.yaml:2: TRAIN.BATCH_SIZE is already set in line 1");
  // An alias may be inside the value it refers to, and nested lists of aliases can grow without
  // end.
  expect_error([&] { read("TRAIN: &a {BATCH_SIZE: *a}\n"); }, "config.yaml:1: unknown key TRAIN");
  expect_error([&] { read("MODEL: {HIDDEN: &a [*a, 1]}\n"); }, "MODEL.HIDDEN", "'[.., 1]'");
  expect_error([&] { read_config(config(), {"DEVICES"}); }, "'DEVICES' has no value");
}

TEST_F(ConfigTest, NumbersAreFiniteAndWithinReason) {
  auto refused = [&](const std::string& key, const std::string& value, const std::string& part) {
    SCOPED_TRACE(key + " " + value);
    expect_error([&] { read_config(config(), {key, value}); }, key, part);
  };
  for (const char* key : {"SOLVER.BASE_LR", "SOLVER.MOMENTUM", "SOLVER.WEIGHT_DECAY",
                          "SOLVER.GAMMA", "SOLVER.CLIP_NORM"})
    for (const char* value : {".inf", ".nan", "-.inf"}) refused(key, value, "should be finite");
  refused("SOLVER.LRS", "[0.1, .nan]", "should be finite");
  refused("SOLVER.BASE_LR", "1e200", "should be at most 3.4e+38");
  refused("SOLVER.CLIP_VALUE", "1e300", "should be at most 3.4");
  refused("SOLVER.CLIP_NORM", "1e-300", "closer to 0 than a number of 32 bits can be");
  refused("RNG_SEED", "18446744073709551615", "should be at most 9223372036854775807");
  refused("PIECES", "5000", "should be at most 4096");
  for (const char* key : {"THREADS", "DATA.THREADS"}) {
    refused(key, "100000", "should be at most 1024");
    refused(key, "99999999", "should be at most 1024");
  }
  refused("TRAIN.BATCH_SIZE", "100000000000000", "should be at most 16777216");
  refused("TRAIN.BATCH_SIZE", "0", "should be at least 1");
  refused("MODEL.HIDDEN", "[8, 1000000000000]", "should be at most 16777216");
  refused("DEVICES", "cpu*1000000000", "more than 4096 devices");
  expect_error(
      [&] {
        read_config(config(), {"DEVICES", "cpu*8", "THREADS", "1024"});
      },
      "THREADS 1024", "8192 threads");
}

// An error about values that do not fit together names the location of the key that was set.
TEST_F(ConfigTest, KeysThatDoNotFitAreNamedByTheirPlace) {
  const std::string path = config();
  const auto refused = [&](const std::vector<std::string>& words, const std::string& beginning) {
    SCOPED_TRACE(words.empty() ? path : words[0]);
    try {
      read_config(path, words);
      ADD_FAILURE() << "bad text was accepted";
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what()).substr(0, beginning.size()), beginning);
    }
  };
  refused({"SOLVER.TYPE", "SGDD"}, "command line: SOLVER.TYPE: 'SGDD'");
  refused({"SOLVER.LR_POLICY", "foo"}, "command line: SOLVER.LR_POLICY 'foo' is not known");
  refused({"SOLVER.LR_POLICY", "steps_with_decay", "SOLVER.STEPS", "[5, 3]"},
          "command line: SOLVER.STEPS [5,3] must begin with 0");
  refused({"TRAIN.BATCH_SIZE", "1"}, "command line: TRAIN.BATCH_SIZE 1 is too small");
  refused({"--ring-order", "0,0"}, "command line, --ring-order: RING_ORDER: ");
  refused({"--devices", "cpu*20"}, path + ":5: TRAIN.BATCH_SIZE 16 is too small");
  refused({"SOLVER.TYPE", "Adam", "SOLVER.BETA2", "1"}, "command line: SOLVER.BETA1, SOLVER.BETA2");
  config(std::string(kTrainingConfig) + "RING_ORDER: [0, 0]\n");
  refused({}, path + ":8: RING_ORDER: ");
  // None of the keys that the error names was set.
  config("DEVICES: cpu*2\nSOLVER: {LR_POLICY: steps_with_lrs, STEPS: [0]}\n");
  refused({}, path + ": SOLVER.LRS has 0 entries for 1 STEPS");
}

TEST_F(ConfigTest, NamesTheOptimiser) {
  const auto read = [&](std::vector<std::string> keys) { return read_config(config(), keys); };
  EXPECT_EQ(type_of(read({}).optimizer), "SGD");
  EXPECT_EQ(type_of(read({"SOLVER.NESTEROV", "true"}).optimizer), "Nesterov");
  EXPECT_EQ(type_of(read({"SOLVER.TYPE", "Adam"}).optimizer), "Adam");
  const auto refused = [&](std::vector<std::string> keys, const std::string& why) {
    expect_error([&] { read(keys); }, "command line: SOLVER.TYPE: ", why);
  };
  refused({"SOLVER.TYPE", "Adan"},
          "'Adan' is not one of SGD, Nesterov, Adam, AdamW, LAMB, Lion, RMSProp, "
          "CentredRMSProp, Adagrad or LARS; did you mean Adam?");
  refused({"SOLVER.TYPE", "Adam", "SOLVER.NESTEROV", "true"}, "is Adam, but SOLVER.NESTEROV is");
  for (const char* key : {"SOLVER.BETA1", "SOLVER.BETA2", "SOLVER.EPSILON"})
    expect_error(
        [&] {
          read({"SOLVER.TYPE", "Adam", key, key[7] == 'B' ? "1" : "0"});
        },
        "command line: SOLVER.BETA1, SOLVER.BETA2 and SOLVER.EPSILON: Adam's ", "should be");
  struct Wrong {
    const char *type, *key, *value, *why;
  };
  for (const Wrong& wrong : {Wrong{"AdamW", "BETA1", "1", "AdamW's beta1 is 1, should be"},
                             Wrong{"RMSProp", "ALPHA", "1", "RMSProp's alpha is 1, should be"},
                             Wrong{"CentredRMSProp", "RMSPROP_MOMENTUM", "1", "'s momentum is 1"},
                             Wrong{"Adagrad", "EPSILON", "0", "Adagrad's epsilon is 0"},
                             Wrong{"LARS", "TRUST", "0", "LARS's trust is 0, should be"},
                             Wrong{"LARS", "MOMENTUM", "1", "the momentum is 1, should be"}}) {
    const std::string key = join("SOLVER.", wrong.key);
    EXPECT_EQ(type_of(read({"SOLVER.TYPE", wrong.type}).optimizer), wrong.type);
    expect_error([&] { read({"SOLVER.TYPE", wrong.type, key, wrong.value}); }, key, wrong.why);
  }
  expect_error(
      [&] {
        read({"SOLVER.TYPE", "Adagrad", "SOLVER.LR_DECAY", "-1"});
      },
      "SOLVER.LR_DECAY", "at least 0");
  expect_error([&] { read({"SOLVER.MOMENTUM", "1"}); }, "SOLVER.MOMENTUM: the momentum is 1");
  expect_error(
      [&] {
        read({"SOLVER.TYPE", "Lion", "SOLVER.BETA1", "1"});
      },
      "SOLVER.BETA1", "Lion's beta1 is 1, should be");
  read({"SOLVER.TYPE", "SGD", "SOLVER.BETA2", "1"});  // has no meaning for SGD
}

// The memory needs are added up before any memory is allocated.
TEST_F(ConfigTest, WhatAsksForMoreMemoryThanThereIsIsNamed) {
  const ProgramOptions little{.environment = {{"LOCKSTEP_MEMORY", "100M"}}};
  expect_refused(train("run", {"TRAIN.BATCH_SIZE", "1000000"}, little),
                 {"TRAIN.BATCH_SIZE 1000000 needs", "100 MiB are allowed by LOCKSTEP_MEMORY"});
  expect_refused(train("run", {"MODEL.NUM_CLASSES", "1000000"}),
                 {"MODEL.NUM_CLASSES 1000000", "14.6 TiB"});
  expect_refused(train("run", {"DATA.TEST_SIZE", "1000000"}, little), {"DATA.TEST_SIZE 1000000"});
  expect_refused(train("run", {"MODEL.HIDDEN", "[100000]"}, little), {"needs", "100 MiB"});
  EXPECT_EQ(train("run", {"SOLVER.MAX_ITER", "1"}, little).exit_code, 0);
}

// Values are compared as texts, and earlier versions wrote numbers with more digits.
TEST_F(ConfigTest, FitsCheckpointsOfAnOlderSpelling) {
  ClassificationConfig config = read_config(this->config(), {});
  const auto with = [&](const std::string& key, const std::string& value) {
    check_remembered(remembered(keys_of(config), config), {{key, value}}, "old.safetensors", 2);
  };
  with("DATA.CROP_SCALE", "[0.080000000000000002, 1]");
  expect_error([&] { with("DATA.CROP_SCALE", "[0.09, 1]"); }, "DATA.CROP_SCALE [0.09, 1]");
  expect_error([&] { with("DATA.CROP_SCALE", "[0.08, 1, 1]"); }, "DATA.CROP_SCALE");
  expect_error([&] { with("MODEL.TYPE", "lenet"); }, "MODEL.TYPE lenet, but now it is mlp");
  expect_error([&] { with("MODEL.HIDDEN", "[32, 17]"); }, "MODEL.HIDDEN");
}

// LOCKSTEP_UPDATE_GOLDEN=1 rewrites the page.
TEST_F(ConfigTest, ThePageOfKeysIsComplete) {
  const std::string page = run_lockstep({"keys", "--markdown"}).out;
  const std::string path = std::string(LOCKSTEP_SOURCE_DIR) + "/docs/configuration.md";
  if (std::getenv("LOCKSTEP_UPDATE_GOLDEN")) write_file(path, page);
  EXPECT_EQ(read_file(path), page) << "`lockstep keys --markdown > docs/configuration.md`";
  for (const auto& [key, value] : ClassificationConfig().entries())
    EXPECT_NE(page.find("| `" + key + "` | "), std::string::npos) << key;
}

TEST_F(ConfigTest, ThePageOfDetectorsKeysIsComplete) {
  const std::string page = run_lockstep({"keys", "--task", "detection", "--markdown"}).out;
  const std::string path = std::string(LOCKSTEP_SOURCE_DIR) + "/docs/detection_keys.md";
  if (std::getenv("LOCKSTEP_UPDATE_GOLDEN")) write_file(path, page);
  EXPECT_EQ(read_file(path), page)
      << "`lockstep keys --task detection --markdown > docs/detection_keys.md`";
}

TEST_F(ConfigTest, IsShownWithWhereItCameFrom) {
  const Outcome shown =
      run_lockstep({"inspect", config(), "--format", "config", "TEST.ITERS", "50"});
  EXPECT_NE(shown.out.find("# " + config() + ":4\n"), std::string::npos) << shown.out;
  EXPECT_NE(shown.out.find("# command line\n"), std::string::npos);
  EXPECT_NE(shown.out.find("# default\n"), std::string::npos);
  write_file(folder / "again.yaml", shown.out);
  EXPECT_EQ(read_config(folder / "again.yaml", {}).yaml(),
            read_config(config(), {"TEST.ITERS", "50", "OUTPUT_DIR", "runs/config"}).yaml());
  expect_refused(run_lockstep({"inspect", "lenet", "--format", "config"}),
                 {"'lenet' is not a CONFIG.yaml"});
}

// Checks the configuration of a detector without training: its files are read.
TEST_F(ConfigTest, OfADetectorIsShownAndItsErrorsAreNamed) {
  const std::string path =
      config("MODEL: {TYPE: rpn, CONV_BODY: ResNet.add_ResNet50_conv4_body, RPN_ONLY: True}\n");
  const Outcome shown = run_lockstep({"inspect", path, "--format", "config"});
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_NE(shown.out.find("# inferred from MODEL.RPN_ONLY"), std::string::npos) << shown.out;
  expect_refused(run_lockstep({"train", path}), {"TRAIN.DATASETS is empty"});
  expect_refused(run_lockstep({"test", path}), {"TEST.DATASETS is empty"});
  expect_refused(run_lockstep({"test", path, "TEST.DATASETS", "[scenes_val]"}),
                 {"there is no run in"});
  expect_refused(run_lockstep({"train", path, "--devices", "cpu*2"}), {"SOLVER.SCALE_TO_BATCH"});
  for (const char* command : {"train", "build", "plan", "inspect"})
    expect_refused(run_lockstep({command, path, "FPN.DIMS", "5"}),
                   {"command line: unknown key FPN.DIMS; did you mean FPN.DIM?"});
}

TEST_F(ConfigTest, KeysAreListedByPart) {
  const Outcome clip = run_lockstep({"keys", "CLIP"});
  EXPECT_NE(clip.out.find("SOLVER.CLIP_NORM: 0\n    maximum global gradient norm"),
            std::string::npos)
      << clip.out;
  EXPECT_EQ(clip.out.find("MOMENTUM"), std::string::npos);
  expect_refused(run_lockstep({"keys", "CLAP"}), {"'CLAP'"});
}

}  // namespace
}  // namespace lockstep::testing
