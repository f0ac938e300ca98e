// SPDX-License-Identifier: Apache-2.0
// `lockstep train` with label smoothing, mixed pictures and augmentation: the same bits for any
// number of readers, in bytes and floats, after a resume and over processes.
#include <gtest/gtest.h>

#include <cmath>

#include "app/record/metrics.h"
#include "lockstep/session.h"
#include "runtime/state/safetensors.h"
#include "tests/support/training_command.h"

namespace lockstep::testing {
namespace {

using Words = std::vector<std::string>;

const Words kAll{"TRAIN.LABEL_SMOOTHING", "0.1",    "TRAIN.MIXUP",        "0.4",
                 "DATA.RAND_AUGMENT",     "[2, 9]", "DATA.COLOUR_JITTER", "[0.4, 0.4, 0.4, 0.1]"};

class RegularisedCommand : public TrainingCommand {
 protected:
  static Words with(Words more, const Words& keys = kAll) {
    more.insert(more.end(), keys.begin(), keys.end());
    return more;
  }
  StateValues trained(const std::string& run, const Words& keys) {
    const Outcome outcome = train(run, keys);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return read_safetensors(folder / (run + "/checkpoint.safetensors")).tensors;
  }
};

TEST_F(RegularisedCommand, ResumesToTheSameBitsWithAnyReaders) {
  const StateValues whole = trained("whole", with({"SOLVER.MAX_ITER", "14", "DATA.THREADS", "1"}));
  trained("cut", with({"SOLVER.MAX_ITER", "5", "DATA.THREADS", "3"}));
  EXPECT_TRUE(whole ==
              trained("cut", with({"SOLVER.MAX_ITER", "14", "DATA.THREADS", "3", "--resume"})));
  EXPECT_FALSE(whole == trained("plain", {"SOLVER.MAX_ITER", "14"}));
  expect_refused(train("cut", {"--resume", "SOLVER.MAX_ITER", "20"}),
                 {"saved with DATA.COLOUR_JITTER [0.4, 0.4, 0.4, 0.1]"});
  Words other = with({"--resume", "SOLVER.MAX_ITER", "15"});
  other[4] = "0.2";
  const Outcome outcome = train("cut", other);
  EXPECT_NE(outcome.out.find("TRAIN.LABEL_SMOOTHING 0.2 instead of 0.1"), std::string::npos)
      << outcome.out << outcome.err;
}

// A batch of 16 over two replicas in one process or in two.
TEST_F(RegularisedCommand, TrainsTheSameOverProcesses) {
  const StateValues one = trained("one", with({"SOLVER.MAX_ITER", "10"}));
  Words line{"launch", "-n",     "2",          "--",          "lockstep",
             "train",  config(), "OUTPUT_DIR", folder / "two"};
  for (const std::string& word : with({"SOLVER.MAX_ITER", "10", "--devices", "cpu"}))
    line.push_back(word);
  const Outcome two = run_lockstep(line);
  ASSERT_EQ(two.exit_code, 0) << two.out << two.err;
  EXPECT_TRUE(one == read_safetensors(folder / "two/checkpoint.safetensors").tensors);
}

TEST_F(RegularisedCommand, AugmentedBytesAndFloatsTrainTheSameBits) {
  const Words keys(kAll.begin() + 4, kAll.end());
  for (const char* precision : {"float32", "bfloat16"}) {
    const Words run{"SOLVER.MAX_ITER", "6", "PRECISION", precision};
    EXPECT_TRUE(
        trained(std::string("floats_") + precision, with(run, keys)) ==
        trained(std::string("bytes_") + precision, with(with(run, {"DATA.BYTES", "true"}), keys)))
        << precision;
    trained(std::string("all_") + precision, with(with(run, {"DATA.BYTES", "true"})));
  }
}

// The held-out loss is of the certain labels; the training loss contains the soft labels' part.
TEST_F(RegularisedCommand, ReportsTheLossOfSoftLabels) {
  const Outcome outcome =
      train("run", {"SOLVER.MAX_ITER", "5", "SOLVER.BASE_LR", "0", "TRAIN.LABEL_SMOOTHING", "0.5"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out.find("soft_labels"), std::string::npos) << outcome.out;
  ASSERT_EQ(train("plain", {"SOLVER.MAX_ITER", "5", "SOLVER.BASE_LR", "0"}).exit_code, 0);
  const auto soft = read_metrics(folder / "run/metrics.jsonl");
  const auto plain = read_metrics(folder / "plain/metrics.jsonl");
  EXPECT_NEAR(value_of(soft[0], "loss") - value_of(soft[0], "soft_labels"),
              value_of(plain[0], "loss"), 1e-5);
  EXPECT_GT(std::abs(value_of(soft[0], "soft_labels")), 1e-4);
  EXPECT_EQ(value_of(soft[0], "accuracy"), value_of(plain[0], "accuracy"));
  EXPECT_EQ(value_of(soft.back(), "test_loss"), value_of(plain.back(), "test_loss"));
}

TEST_F(RegularisedCommand, TrainsTheNetworkOfAFile) {
  ASSERT_EQ(train("first", {"SOLVER.MAX_ITER", "2"}).exit_code, 0);
  const Words file{"SOLVER.MAX_ITER", "4", "MODEL.ONNX", folder / "first/model.onnx"};
  EXPECT_FALSE(trained("soft", with(file)) == trained("plain", file));
}

TEST_F(RegularisedCommand, NamesWhatDoesNotFit) {
  expect_refused(train("run", {"DATA.RAND_AUGMENT", "[2]"}),
                 {"DATA.RAND_AUGMENT", "[operations, magnitude]"});
  expect_refused(train("run", {"DATA.RAND_AUGMENT", "[2, 31]"}), {"magnitude from 0 to 30"});
  expect_refused(train("run", {"DATA.COLOUR_JITTER", "[0.1, 0.1, 0.1, 0.6]"}),
                 {"DATA.COLOUR_JITTER", "hue from 0 to 0.5"});
  expect_refused(train("run", {"TRAIN.LABEL_SMOOTHING", "1"}), {"TRAIN.LABEL_SMOOTHING"});
  expect_refused(train("run", {"DATA.NAME", "synthetic", "DATA.RAND_AUGMENT", "[1, 9]"}),
                 {"DATA.RAND_AUGMENT", "DATA.NAME synthetic", "floats"});
  expect_refused(train("run", {"TRAIN.MIXUP", "-1"}), {"TRAIN.MIXUP"});
}

}  // namespace
}  // namespace lockstep::testing
