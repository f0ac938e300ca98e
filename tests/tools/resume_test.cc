// SPDX-License-Identifier: Apache-2.0
// `lockstep train --resume`: the bits of an uninterrupted run, or an error that names the
// difference.
#include <gtest/gtest.h>

#include <filesystem>

#include "app/record/metrics.h"
#include "runtime/state/safetensors.h"
#include "tests/support/training_command.h"

namespace lockstep::testing {
namespace {

using ResumeTest = TrainingCommand;

void flip_bit_in(const std::string& path) {
  std::string text = read_file(path);
  text[text.size() - 9] ^= 4;
  write_file(path, text);
}

// kill -9 at many moments, with a resume after each: the bits of an uninterrupted run.
TEST_F(ResumeTest, AfterKillGivesTheSameBits) {
  ASSERT_EQ(train("whole", {"SOLVER.MAX_ITER", "400"}).exit_code, 0);
  int killed = 0;
  for (long delay : {15, 25, 40, 55, 70, 90, 110, 140})
    killed += train("cut", {"SOLVER.MAX_ITER", "400", "--resume", "auto"}, {.kill_after_ms = delay})
                  .exit_code == 128 + 9;
  EXPECT_GE(killed, 3) << "the run ended before it could be killed";
  Outcome last = train("cut", {"SOLVER.MAX_ITER", "400", "--resume", "auto"});
  ASSERT_EQ(last.exit_code, 0) << last.err;
  EXPECT_TRUE(checkpoint("whole") == checkpoint("cut"));
  auto whole = read_metrics(folder / "whole/metrics.jsonl");
  auto cut = read_metrics(folder / "cut/metrics.jsonl");
  EXPECT_EQ(value_of(whole.back(), "iter"), value_of(cut.back(), "iter"));
}

TEST_F(ResumeTest, CanTrainLongerAndRefusesAnotherRun) {
  ASSERT_EQ(train("run").exit_code, 0);
  Outcome longer = train("run", {"--resume", "SOLVER.MAX_ITER", "65"});
  EXPECT_EQ(longer.exit_code, 0) << longer.err;
  EXPECT_NE(longer.out.find("resumed after iteration 60"), std::string::npos);
  expect_refused(train("run", {"--resume", "TRAIN.BATCH_SIZE", "32"}),
                 {"checkpoint.safetensors", "TRAIN.BATCH_SIZE 16", "now it is 32"});
  // Of several different keys, the network's is named first.
  expect_refused(
      train("run", {"--resume", folder / "run", "MODEL.TYPE", "lenet", "TRAIN.BATCH_SIZE", "32"}),
      {"was saved with MODEL.TYPE mlp, but now it is lenet"});
}

// Both add states or change a state's meaning; the file's tensors alone would not reveal the
// change.
TEST_F(ResumeTest, NamesAnotherPrecisionOrDeferral) {
  const std::vector<std::string> plain{"SOLVER.MAX_ITER", "3"},
      half{"SOLVER.MAX_ITER", "3", "PRECISION", "float16"},
      deferred{"SOLVER.MAX_ITER", "3", "SOLVER.DEFERRED", "true"};
  auto resumed = [&](const std::string& run, std::vector<std::string> keys) {
    keys.insert(keys.begin(), "--resume");
    return train(run, keys);
  };
  ASSERT_EQ(train("plain", plain).exit_code, 0);
  expect_refused(resumed("plain", half),
                 {"checkpoint.safetensors: was saved with PRECISION float32", "now it is float16"});
  expect_refused(resumed("plain", {"PRECISION", "bfloat16"}), {"PRECISION float32"});
  expect_refused(resumed("plain", deferred),
                 {"saved with SOLVER.DEFERRED false", "now it is true"});
  ASSERT_EQ(train("half", half).exit_code, 0);
  expect_refused(resumed("half", plain), {"saved with PRECISION float16", "now it is float32"});
  ASSERT_EQ(train("deferred", deferred).exit_code, 0);
  expect_refused(resumed("deferred", plain), {"SOLVER.DEFERRED true", "now it is false"});
  std::vector<std::string> mean = deferred;
  mean.insert(mean.end(), {"ALL_REDUCE", "mean:xring"});
  expect_refused(resumed("deferred", mean), {"ALL_REDUCE for a sum, but now it is a mean"});
  EXPECT_EQ(resumed("plain", {"SOLVER.MAX_ITER", "4", "ALL_REDUCE", "mean:xring"}).exit_code, 0);
  // On another number of replicas, deferred gradients of any kind start at zero again.
  EXPECT_EQ(resumed("deferred", {"SOLVER.DEFERRED", "true", "SOLVER.MAX_ITER", "4", "ALL_REDUCE",
                                 "mean:xring", "--devices", "cpu*4"})
                .exit_code,
            0);
  ASSERT_EQ(train("deferred", deferred).exit_code, 0);
  EXPECT_EQ(resumed("half", half).exit_code, 0);
  EXPECT_EQ(resumed("deferred", deferred).exit_code, 0);
}

TEST_F(ResumeTest, NamesAnotherOptimiser) {
  const std::vector<std::string> adam{"--resume", "SOLVER.TYPE", "Adam"}, plain{"--resume"};
  ASSERT_EQ(train("plain", {"SOLVER.MAX_ITER", "3"}).exit_code, 0);
  ASSERT_EQ(train("adam", {"SOLVER.MAX_ITER", "3", "SOLVER.TYPE", "Adam"}).exit_code, 0);
  expect_refused(train("plain", adam),
                 {"checkpoint.safetensors: was saved with SOLVER.TYPE SGD, but now it is Adam"});
  expect_refused(train("plain", {"--resume", "SOLVER.NESTEROV", "true"}),
                 {"saved with SOLVER.TYPE SGD, but now it is Nesterov"});
  expect_refused(train("adam", plain), {"saved with SOLVER.TYPE Adam, but now it is SGD"});
  ASSERT_EQ(train("ahead", {"SOLVER.MAX_ITER", "3", "SOLVER.NESTEROV", "true"}).exit_code, 0);
  EXPECT_EQ(
      train("ahead", {"--resume", "SOLVER.MAX_ITER", "4", "SOLVER.TYPE", "Nesterov"}).exit_code, 0);
}

// The count of updates continues, also on another number of replicas.
TEST_F(ResumeTest, OfAdamGivesTheSameBits) {
  const std::vector<std::string> adam{"SOLVER.TYPE", "Adam", "SOLVER.BASE_LR", "0.003"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.end(), adam.begin(), adam.end());
    return more;
  };
  ASSERT_EQ(train("whole", with({"SOLVER.MAX_ITER", "20"})).exit_code, 0);
  ASSERT_EQ(train("cut", with({"SOLVER.MAX_ITER", "13"})).exit_code, 0);
  ASSERT_EQ(train("cut", with({"SOLVER.MAX_ITER", "20", "--resume"})).exit_code, 0);
  EXPECT_TRUE(checkpoint("whole") == checkpoint("cut"));
  ASSERT_EQ(
      train("cut", with({"SOLVER.MAX_ITER", "25", "--resume", "--devices", "cpu*4"})).exit_code, 0);
  const Safetensors file = read_safetensors(folder / "cut/checkpoint.safetensors");
  EXPECT_EQ(file.tensors.at("updates_made").values<float>()[0], 25);
}

TEST_F(ResumeTest, OfEveryOptimiserGivesTheSameBits) {
  for (const std::string type :
       {"AdamW", "RMSProp", "CentredRMSProp", "Adagrad", "LARS", "LAMB", "Lion"}) {
    const auto with = [&](std::vector<std::string> more) {
      more.insert(more.end(), {"SOLVER.TYPE", type, "SOLVER.BASE_LR", "0.003",  //
                               "SOLVER.RMSPROP_MOMENTUM", "0.5", "SOLVER.LR_DECAY", "0.1"});
      return more;
    };
    ASSERT_EQ(train(type + "-whole", with({"SOLVER.MAX_ITER", "6"})).exit_code, 0);
    ASSERT_EQ(train(type, with({"SOLVER.MAX_ITER", "3"})).exit_code, 0);
    expect_refused(train(type, {"--resume"}), {"saved with SOLVER.TYPE " + type});
    ASSERT_EQ(train(type, with({"SOLVER.MAX_ITER", "6", "--resume"})).exit_code, 0);
    EXPECT_TRUE(checkpoint(type + "-whole") == checkpoint(type)) << type;
  }
}

// The tests lower the rate, so a resumed run needs their history; the averages are states.
TEST_F(ResumeTest, OfAPlateauAndOfAveragesGivesTheSameBits) {
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.end(),
                {"SOLVER.LR_POLICY", "plateau", "SOLVER.PLATEAU_PATIENCE", "0",  //
                 "SOLVER.PLATEAU_THRESHOLD", "9", "SOLVER.PLATEAU_FACTOR", "0.5", "TEST.ITERS", "2",
                 "TRAIN.EMA", "0.75", "SOLVER.RATES", "{\"*_b\": 0.5}"});
    return more;
  };
  ASSERT_EQ(train("whole", with({"SOLVER.MAX_ITER", "9"})).exit_code, 0);
  for (const std::string cut : {"3", "4", "7"}) {
    ASSERT_EQ(train("cut" + cut, with({"SOLVER.MAX_ITER", cut})).exit_code, 0);
    ASSERT_EQ(train("cut" + cut, with({"SOLVER.MAX_ITER", "9", "--resume"})).exit_code, 0);
    EXPECT_TRUE(checkpoint("whole") == checkpoint("cut" + cut)) << cut;
  }
  const Safetensors file = read_safetensors(folder / "whole/checkpoint.safetensors");
  EXPECT_NE(file.metadata.at("plateau").find("\"drops\":[4,6,8]"), std::string::npos)
      << file.metadata.at("plateau");
  EXPECT_EQ(run_lockstep({"export", folder / "whole", "-o", folder / "whole.onnx"}).exit_code, 0);
}

TEST_F(ResumeTest, NamesAveragesThatTheCheckpointLacks) {
  ASSERT_EQ(train("run", {"SOLVER.MAX_ITER", "3"}).exit_code, 0);
  expect_refused(train("run", {"--resume", "TRAIN.EMA", "0.9", "SOLVER.MAX_ITER", "4"}),
                 {"checkpoint.safetensors: was saved with TRAIN.EMA 0", "but now it is 0.9"});
  ASSERT_EQ(train("run", {"SOLVER.MAX_ITER", "3", "TRAIN.EMA", "0.9"}).exit_code, 0);
  EXPECT_EQ(train("run", {"--resume", "TRAIN.EMA", "0.8", "SOLVER.MAX_ITER", "4"}).exit_code, 0);
  EXPECT_EQ(train("run", {"--resume", "TRAIN.EMA", "0", "SOLVER.MAX_ITER", "5"}).exit_code, 0);
}

TEST_F(ResumeTest, ACheckpointOfBeforeAKeyWasRememberedLoads) {
  ASSERT_EQ(train("run", {"SOLVER.MAX_ITER", "7"}).exit_code, 0);
  const std::string path = folder / "run/checkpoint.safetensors";
  Safetensors file = read_safetensors(path);
  EXPECT_EQ(file.metadata.erase("PRECISION"), 1u);
  EXPECT_EQ(file.metadata.erase("SOLVER.DEFERRED"), 1u);
  EXPECT_EQ(file.metadata.erase("SOLVER.TYPE"), 1u);
  std::vector<std::pair<std::string, Tensor>> tensors;
  for (const auto& [name, value] : file.tensors) tensors.emplace_back(name, view_of(value));
  write_safetensors(path, tensors, file.metadata);
  expect_refused(train("run", {"--resume", "SOLVER.TYPE", "Adam"}),
                 {"saved with SOLVER.TYPE SGD, but now it is Adam"});
  Outcome outcome = train("run", {"--resume", "SOLVER.MAX_ITER", "8"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("resumed after iteration 7"), std::string::npos) << outcome.out;
}

// A bit of the trained weights flips on the disk. The error names the file, and the previous
// checkpoint resumes with the bits of an undisturbed run.
TEST_F(ResumeTest, ADamagedCheckpointIsNamedAndTheOneBeforeGoesOn) {
  ASSERT_EQ(train("whole").exit_code, 0);
  ASSERT_EQ(train("run").exit_code, 0);
  const std::string path = folder / "run/checkpoint.safetensors";
  const std::string previous = folder / "run/checkpoint.previous.safetensors";
  flip_bit_in(path);
  expect_refused(train("run", {"--resume"}),
                 {path + ": damaged: the data of 'pred_b_momentum' does not match its checksum",
                  "from iteration 56, is intact; continue from it with:  lockstep train " +
                      (folder / "run") + "/config.yaml --resume " + previous});
  const std::string run = folder / "run", config = run + "/config.yaml", other = "is intact: ";
  for (const std::vector<std::string>& use :
       {std::vector<std::string>{"test", config, "OUTPUT_DIR", run},
        {"infer", run, folder / "none.png"},
        {"export", run, "-o", folder / "model.onnx"}})
    expect_refused(run_lockstep(use), {path + ": damaged", other + previous});
  std::filesystem::rename(path, path + ".away");
  expect_refused(train("run", {"--resume", "auto"}), {"contains no checkpoint", previous});
  std::filesystem::rename(path + ".away", path);

  const std::string before = read_file(previous);
  Outcome outcome = run_lockstep({"train", folder / "run/config.yaml", "--resume", previous});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("resumed after iteration 56"), std::string::npos) << outcome.out;
  EXPECT_TRUE(checkpoint("run") == checkpoint("whole"));
  EXPECT_TRUE(read_file(previous) == before) << "replaced by the damaged one";

  flip_bit_in(path);
  flip_bit_in(previous);
  expect_refused(train("run", {"--resume"}), {"the previous checkpoint cannot be used either"});
}

TEST_F(ResumeTest, ADamagedBestIsSaidAndReplaced) {
  ASSERT_EQ(train("run", {"TEST.ITERS", "20"}).exit_code, 0);
  const std::string best = folder / "run/best.safetensors";
  flip_bit_in(best);
  Outcome outcome = train("run", {"--resume", "SOLVER.MAX_ITER", "62"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("the best result so far is unknown: " + best), std::string::npos)
      << outcome.out;
  EXPECT_EQ(read_safetensors(best).metadata.at("iterations"), "62");
}

TEST_F(ResumeTest, NumbersOfACheckpointThatAreMissingOrAbsurdAreNamed) {
  ASSERT_EQ(train("run", {"SOLVER.MAX_ITER", "7"}).exit_code, 0);
  const std::string path = folder / "run/checkpoint.safetensors";
  const Safetensors file = read_safetensors(path);
  std::vector<std::pair<std::string, Tensor>> tensors;
  for (const auto& [name, value] : file.tensors) tensors.emplace_back(name, view_of(value));
  for (const char* key : {"steps", "threads", "replicas"}) {
    auto metadata = file.metadata;
    metadata.erase(key);
    write_safetensors(path, tensors, metadata);
    expect_refused(train("run", {"--resume", "SOLVER.MAX_ITER", "8"}),
                   {path + ": its metadata lacks '" + key + "'"});
    for (const char* absurd : {"-1", "99999999999999999999"}) {
      metadata[key] = absurd;
      write_safetensors(path, tensors, metadata);
      expect_refused(train("run", {"--resume", "SOLVER.MAX_ITER", "8"}),
                     {path, key, std::string("'") + absurd + "'"});
    }
  }
}

// The last step has a finite loss, but its weights are unusable.
TEST_F(ResumeTest, ALastStepThatLosesTheNetworkIsNamedAndCostsNothing) {
  ASSERT_EQ(train("run", {"SOLVER.MAX_ITER", "7"}).exit_code, 0);
  const std::string best = read_file(folder / "run/best.safetensors");
  for (const char* rate : {"1e30", "3e38"}) {
    const Outcome outcome =
        train("run", {"--resume", "SOLVER.MAX_ITER", "8", "SOLVER.BASE_LR", rate});
    expect_refused(outcome, {"after iteration 8", "lower SOLVER.BASE_LR"});
    EXPECT_TRUE(read_file(folder / "run/best.safetensors") == best);
  }
}

// These keys may change, but the run's bits differ from an uninterrupted run.
TEST_F(ResumeTest, NamesKeysThatChangeBits) {
  ASSERT_EQ(train("run", {"SOLVER.MAX_ITER", "4"}).exit_code, 0);
  const auto says = [&](int done, const std::string& changes, std::vector<std::string> more) {
    more.insert(more.end(), {"--resume", "SOLVER.MAX_ITER", std::to_string(done + 1)});
    const Outcome outcome = train("run", more);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    std::string line = "resumed after iteration " + std::to_string(done) + changes;
    if (!changes.empty()) line += ": bits may differ from an uninterrupted run's";
    EXPECT_NE(outcome.out.find(line + "\n"), std::string::npos) << line << outcome.out;
  };
  says(4, " with TRAIN.MICRO_BATCHES 2 instead of 1", {"TRAIN.MICRO_BATCHES", "2"});
  says(5, " with TRAIN.MICRO_BATCHES 1 instead of 2", {});
  says(6, " with SOLVER.MOMENTUM 0.5 instead of 0.9, SOLVER.WEIGHT_DECAY 0.01 instead of 0.0001",
       {"SOLVER.MOMENTUM", "0.5", "SOLVER.WEIGHT_DECAY", "0.01"});
  says(7,
       " with ALL_REDUCE xring instead of collective, PACKING ray:1M instead of auto, PIECES 2 "
       "instead of 1, SOLVER.MOMENTUM 0.9 instead of 0.5, SOLVER.WEIGHT_DECAY 0.0001 instead of "
       "0.01, WIRE bfloat16 instead of ''",
       {"ALL_REDUCE", "xring", "PACKING", "ray:1M", "PIECES", "2", "WIRE", "bfloat16"});
  says(8,
       " with ALL_REDUCE collective instead of xring, EMBEDDINGS dense instead of auto, PACKING "
       "auto instead of ray:1M, PIECES 1 instead of 2, WIRE '' instead of bfloat16; the number of "
       "replicas was 2 and is 1 now",
       {"EMBEDDINGS", "dense", "DEVICES", "cpu"});
  // Logging, snapshots and the end of the run do not affect the bits.
  says(9, "",
       {"EMBEDDINGS", "dense", "DEVICES", "cpu", "TRAIN.SNAPSHOT_ITERS", "3", "TRAIN.LOG_ITERS",
        "2", "TEST.ITERS", "77", "DATA.TEST_SIZE", "50"});
}

TEST_F(ResumeTest, ACheckpointThatNotesNoSuchKeysSaysNothing) {
  ASSERT_EQ(train("run", {"SOLVER.MAX_ITER", "7"}).exit_code, 0);
  const std::string path = folder / "run/checkpoint.safetensors";
  Safetensors file = read_safetensors(path);
  EXPECT_EQ(file.metadata.erase("SOLVER.MOMENTUM"), 1u);
  std::vector<std::pair<std::string, Tensor>> tensors;
  for (const auto& [name, value] : file.tensors) tensors.emplace_back(name, view_of(value));
  write_safetensors(path, tensors, file.metadata);
  const Outcome outcome =
      train("run", {"--resume", "SOLVER.MAX_ITER", "8", "SOLVER.MOMENTUM", "0.5"});
  EXPECT_NE(outcome.out.find("resumed after iteration 7\n"), std::string::npos) << outcome.out;
}

TEST_F(ResumeTest, KeepsTheNumberOfThreads) {
  ASSERT_EQ(train("run", {"DEVICES", "cpu", "THREADS", "3"}).exit_code, 0);
  Outcome again =
      train("run", {"DEVICES", "cpu", "THREADS", "0", "--resume", "SOLVER.MAX_ITER", "61"});
  EXPECT_NE(again.out.find("3 threads each"), std::string::npos) << again.out << again.err;
  again = train("run", {"DEVICES", "cpu", "THREADS", "2", "--resume", "SOLVER.MAX_ITER", "62"});
  EXPECT_NE(again.out.find("2 threads each"), std::string::npos) << again.out << again.err;
}

}  // namespace
}  // namespace lockstep::testing
