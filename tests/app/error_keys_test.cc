// SPDX-License-Identifier: Apache-2.0
// The keys that an error of a configuration is about. The first of them that was set decides the
// location at the start of the text.
#include <gtest/gtest.h>

#include "app/classification/config.h"
#include "app/config/unknown_key.h"
#include "app/control/control_config.h"
#include "app/text/config.h"
#include "tests/support/training_command.h"

namespace lockstep::testing {
namespace {

using Words = std::vector<std::string>;

struct Refused {
  Words words;            // KEY VALUE ..
  Words keys;             // of the error, in the order of its text
  std::string line = "";  // of the file that the error names; "": the command line
};

class ErrorKeysTest : public TrainingCommand {
 protected:
  template <class Read>
  void expect_keys(const Read& read, const std::vector<Refused>& cases) {
    for (const Refused& refused : cases) {
      SCOPED_TRACE(refused.words.empty() ? "the file" : refused.words[0] + " " + refused.words[1]);
      const std::string path = folder / "config.yaml";
      const std::string place = refused.line.empty() ? "command line" : path + refused.line;
      try {
        Origins origins;
        read(config_files(path), refused.words, origins);
        ADD_FAILURE() << "was accepted";
      } catch (const Error& error) {
        EXPECT_EQ(error.subject().keys, refused.keys) << error.what();
        EXPECT_EQ(error.subject().place, place);
        EXPECT_EQ(std::string(error.what()).rfind(place + ": ", 0), 0u) << error.what();
        for (const std::string& key : refused.keys)
          EXPECT_NE(std::string(error.what()).find(key), std::string::npos) << error.what();
      }
    }
  }
  static void classify(const ConfigFiles& files, const Words& words, Origins& origins) {
    read_config(files, words, 1, origins);
  }
  static void model_text(const ConfigFiles& files, const Words& words, Origins& origins) {
    read_text_config(files, words, 1, origins);
  }
  static void control(const ConfigFiles& files, const Words& words, Origins& origins) {
    read_control_config(files, words, 1, origins);
  }
};

TEST_F(ErrorKeysTest, OfClassification) {
  config();
  const std::string batch = "TRAIN.BATCH_SIZE", devices = "DEVICES";
  expect_keys(
      classify,
      {{{batch, "1"}, {batch, devices}},
       {{batch, "3", "TRAIN.MICRO_BATCHES", "2"}, {batch, devices, "TRAIN.MICRO_BATCHES"}},
       {{devices, "cpu*20"}, {batch, devices}, ":5"},
       {{"ALL_REDUCE", "mean:xring", batch, "15"}, {"ALL_REDUCE", batch, devices}},
       {{"TRAIN.SYNC_BATCH_NORM", "true", batch, "15"}, {"TRAIN.SYNC_BATCH_NORM", batch, devices}},
       {{"RING_ORDER", "[0, 0]"}, {"RING_ORDER"}},
       // ALL_REDUCE has its default, so AUX_DEVICES decides the location.
       {{"AUX_DEVICES", "cpu*2"}, {"ALL_REDUCE", "AUX_DEVICES"}},
       {{"AUX_DEVICES", "gpu:0"}, {"AUX_DEVICES"}},
       {{"DATA.CROP_SCALE", "[1, 0.5]"}, {"DATA.CROP_SCALE"}},
       {{"DATA.BYTES", "true", "DATA.NAME", "synthetic"}, {"DATA.BYTES", "DATA.NAME"}},
       {{"THREADS", "1024", devices, "cpu*8"}, {"THREADS", devices}}});
}

TEST_F(ErrorKeysTest, OfTheSolver) {
  config();
  const Words adam{"SOLVER.BETA1", "SOLVER.BETA2", "SOLVER.EPSILON"};
  expect_keys(
      classify,
      {{{"SOLVER.TYPE", "Adan"}, {"SOLVER.TYPE"}},
       {{"SOLVER.TYPE", "Adam", "SOLVER.NESTEROV", "true"}, {"SOLVER.TYPE", "SOLVER.NESTEROV"}},
       {{"SOLVER.TYPE", "Adam", "SOLVER.BETA2", "1"}, adam},
       {{"SOLVER.TYPE", "AdamW", "SOLVER.EPSILON", "0"}, adam},
       {{"SOLVER.TYPE", "RMSProp", "SOLVER.ALPHA", "1"},
        {"SOLVER.ALPHA", "SOLVER.RMSPROP_MOMENTUM", "SOLVER.EPSILON"}},
       {{"SOLVER.TYPE", "Adagrad", "SOLVER.EPSILON", "0"},
        {"SOLVER.LR_DECAY", "SOLVER.INITIAL_ACCUMULATOR", "SOLVER.EPSILON"}},
       {{"SOLVER.TYPE", "LARS", "SOLVER.TRUST", "0"},
        {"SOLVER.MOMENTUM", "SOLVER.TRUST", "SOLVER.EPSILON"}},
       {{"SOLVER.MOMENTUM", "1"}, {"SOLVER.MOMENTUM"}},
       {{"SOLVER.LR_POLICY", "stpe"}, {"SOLVER.LR_POLICY"}},
       {{"SOLVER.WARM_UP_METHOD", "cubic"}, {"SOLVER.WARM_UP_METHOD"}},
       {{"SOLVER.GAMMA", "0", "SOLVER.LR_POLICY", "exp_decay"}, {"SOLVER.GAMMA"}},
       {{"SOLVER.STEPS", "[5, 9]", "SOLVER.LR_POLICY", "steps_with_decay"}, {"SOLVER.STEPS"}},
       {{"SOLVER.STEPS", "[0, 9, 5]", "SOLVER.LR_POLICY", "steps_with_decay"}, {"SOLVER.STEPS"}},
       {{"SOLVER.LRS", "[1]", "SOLVER.LR_POLICY", "steps_with_lrs", "SOLVER.STEPS", "[0, 5]"},
        {"SOLVER.LRS"}}});
}

TEST_F(ErrorKeysTest, OfALanguageModel) {
  config("DEVICES: cpu*2\nTHREADS: 1\nMODEL: {TYPE: char_lstm}\n");
  const std::string batch = "TRAIN.BATCH_SIZE", devices = "DEVICES";
  expect_keys(model_text,
              {{{batch, "1"}, {batch, devices}},
               {{batch, "3", "TRAIN.MICRO_BATCHES", "2"}, {batch, devices, "TRAIN.MICRO_BATCHES"}},
               {{"ALL_REDUCE", "mean:xring", batch, "15"}, {"ALL_REDUCE", batch, devices}},
               {{"THREADS", "1024", "DEVICES", "cpu*8"}, {"THREADS", "DEVICES"}},
               {{"DATA.FILES", "[]"}, {"DATA.FILES"}}});
}

TEST_F(ErrorKeysTest, OfControl) {
  config("DEVICES: cpu*2\nTHREADS: 1\nMODEL: {TYPE: actor_critic}\n");
  const std::string batch = "TRAIN.BATCH_SIZE", environments = "CONTROL.ENVIRONMENTS";
  const std::string steps = "CONTROL.STEPS";
  expect_keys(control, {{{"MODEL.TYPE", "mlp"}, {"MODEL.TYPE"}},
                        {{"CONTROL.ENVIRONMENT", "cart"}, {"CONTROL.ENVIRONMENT"}},
                        {{environments, "3"}, {environments, "DEVICES"}},
                        {{batch, "5"}, {batch, "DEVICES"}},
                        {{environments, "1000000", steps, "1000000"}, {environments, steps}},
                        {{batch, "1000000"}, {batch, environments, steps}},
                        {{"TRAIN.MICRO_BATCHES", "2"}, {"TRAIN.MICRO_BATCHES", batch}},
                        {{"CONTROL.CLIP", "1"}, {"CONTROL.CLIP"}},
                        // Of SOLVER.TYPE and SOLVER.NESTEROV, only SOLVER.NESTEROV is set.
                        {{"SOLVER.NESTEROV", "true"}, {"SOLVER.TYPE", "SOLVER.NESTEROV"}}});
}

TEST_F(ErrorKeysTest, OfAValueThatCannotBeRead) {
  config();
  expect_keys(classify, {{{"SOLVER.BASE_LR", "fast"}, {"SOLVER.BASE_LR"}},
                         {{"SOLVER.BASE_LR", "-1"}, {"SOLVER.BASE_LR"}},
                         {{"DEVICES", "tpu"}, {"DEVICES"}},
                         {{"MODEL.HIDDEN", "(1 2)"}, {"MODEL.HIDDEN"}},
                         {{"MODEL.HIDEN", "[8]"}, {"MODEL.HIDEN"}}});
  config("DEVICES: cpu\nSOLVER:\n  GAMMA: [1]\n");
  expect_keys(classify, {{{}, {"SOLVER.GAMMA"}, ":3"}});
}

TEST_F(ErrorKeysTest, WithoutAKeyIsOfTheFile) {
  const std::string path = config();
  try {
    read_config(path, {"DATA.BYTES", "true", "DATA.NAME", "digitz"});
    ADD_FAILURE() << "was accepted";
  } catch (const Error& error) {
    EXPECT_TRUE(error.subject().keys.empty());
    EXPECT_EQ(error.subject().place, path);
    EXPECT_EQ(std::string(error.what()).rfind(path + ": there is no data set 'digitz'", 0), 0u)
        << error.what();
  }
}

// A value may be spelt like a key.
TEST_F(ErrorKeysTest, AreNoWordsOfItsText) {
  const std::string path =
      config("DEVICES: cpu\nDATA: {BYTES: true, NAME: DEVICES}\nMODEL: {TYPE: mlp}\n");
  try {
    read_config(path, {});
    ADD_FAILURE() << "was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).rfind(path + ": there is no data set 'DEVICES'", 0), 0u)
        << error.what();
  }
}

}  // namespace
}  // namespace lockstep::testing
