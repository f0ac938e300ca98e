// SPDX-License-Identifier: Apache-2.0
// TEST.PATIENCE: runs of any task that end early, and continue to the same end.
#include "app/train/patience.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "app/record/metrics.h"
#include "runtime/state/safetensors.h"
#include "tests/support/expect_error.h"
#include "tests/support/training_command.h"

namespace lockstep::testing {
namespace {

using Words = std::vector<std::string>;

HeldOutTest scored(double score, const std::string& trouble = "") {
  HeldOutTest test;
  test.score = score;
  test.trouble = trouble;
  return test;
}

TEST(Patience, CountsTheTestsSinceTheBest) {
  Patience patience(2, nullptr);
  const auto after = [&](double score, int64_t at) {
    patience.tested(scored(score), at);
    return patience.is_over();
  };
  EXPECT_FALSE(after(0.5, 10));
  EXPECT_FALSE(after(0.4, 20));
  EXPECT_FALSE(after(0.6, 30));
  EXPECT_FALSE(after(0.6, 40)) << "an equal score is not better";
  patience.tested(scored(0.9, "the held-out loss is nan"), 50);
  EXPECT_TRUE(patience.is_over());
  EXPECT_EQ(patience.why("held-out accuracy"),
            "ended early: 2 tests without a better held-out accuracy since iteration 30 "
            "(TEST.PATIENCE 2)");
  Patience without(0, nullptr);
  for (int64_t at = 1; at < 9; ++at) without.tested(scored(0), at);
  EXPECT_FALSE(without.is_over());
  EXPECT_TRUE(without.noted({}).empty());
}

TEST(Patience, ContinuesFromACheckpoint) {
  Patience first(3, nullptr), second(3, nullptr);
  first.tested(scored(1.0 / 3), 5);
  first.tested(scored(0.25), 10);
  EXPECT_FALSE(second.lacks(15)) << "it has not gone on from a checkpoint";
  second.go_on_from(first.noted({}), "c");
  EXPECT_EQ(second.noted({}), first.noted({}));
  EXPECT_FALSE(second.lacks(10));
  EXPECT_TRUE(second.lacks(15));
  second.tested(scored(0.2), 10);
  EXPECT_EQ(second.noted({}), first.noted({})) << "a test counts once";
  for (const char* bad : {"x", "0.5 1 2", "0.5 1 2 3 4", "0.5 -1 2 3", "2 1 1 1", "nan 1 1 1"})
    expect_error([&] { second.go_on_from({{"patience", bad}}, "file"); }, "file", "patience", bad);
}

// Without a learning rate no score gets better, so the third test is the second without a better
// score. The number of iterations is 15.
class PatienceCommand : public TrainingCommand {
 protected:
  static Words with(Words more) {
    more.insert(more.end(), {"TEST.ITERS", "5", "TEST.PATIENCE", "2", "SOLVER.BASE_LR", "0"});
    return more;
  }
  std::string steps_of(const std::string& run) {
    return read_safetensors(folder / (run + "/checkpoint.safetensors")).metadata.at("steps");
  }
  int64_t tests_of(const std::string& run) {
    int64_t tests = 0;
    for (const MetricRow& row : read_metrics(folder / (run + "/metrics.jsonl")))
      for (const auto& entry : row) tests += entry.first == "test_accuracy";
    return tests;
  }
};

TEST_F(PatienceCommand, EndsARunAndSaysWhy) {
  const Outcome outcome = train("run", with({}));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const std::string why =
      "ended early: 2 tests without a better held-out accuracy since iteration 5 (TEST.PATIENCE 2)";
  EXPECT_NE(outcome.out.find(why), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find(" after 15 iterations"), std::string::npos) << outcome.out;
  EXPECT_NE(read_file(folder / "run/report.html").find(why), std::string::npos);
  EXPECT_EQ(steps_of("run"), "15");
  EXPECT_EQ(tests_of("run"), 3);
  EXPECT_EQ(read_safetensors(folder / "run/best.safetensors").metadata.at("iterations"), "5");
  EXPECT_TRUE(std::filesystem::exists(folder / "run/model.onnx"));
  // It is over as long as its patience is the same.
  const Outcome again = train("run", with({"--resume"}));
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_NE(again.out.find(why), std::string::npos) << again.out;
  EXPECT_EQ(steps_of("run"), "15");
  Words longer = with({"--resume"});
  longer[4] = "3";
  ASSERT_EQ(train("run", longer).exit_code, 0);
  EXPECT_EQ(steps_of("run"), "20");
}

// The second run's last test, at iteration 10, comes after its last checkpoint.
TEST_F(PatienceCommand, ResumesToTheSameEndAndBits) {
  ASSERT_EQ(train("whole", with({})).exit_code, 0);
  for (const char* cut : {"3", "7", "10", "12"}) {
    const std::string run = std::string("cut_") + cut;
    ASSERT_EQ(train(run, with({"SOLVER.MAX_ITER", cut})).exit_code, 0);
    const Outcome outcome = train(run, with({"--resume"}));
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_TRUE(checkpoint(run) == checkpoint("whole")) << cut;
  }
}

// As after a change of TEST.METRICS: neither the count of tests nor the best weights go on.
TEST_F(PatienceCommand, BeginsAnewIfTheTestsMeasureAnotherScore) {
  ASSERT_EQ(train("run", with({"SOLVER.MAX_ITER", "12"})).exit_code, 0);
  for (const char* name : {"run/checkpoint.safetensors", "run/best.safetensors"}) {
    Safetensors file = read_safetensors(folder / name);
    EXPECT_EQ(file.metadata.at("score_name"), "held-out accuracy") << name;
    file.metadata["score_name"] = "held-out recall";
    std::vector<std::pair<std::string, Tensor>> tensors;
    for (const auto& [tensor, value] : file.tensors) tensors.emplace_back(tensor, view_of(value));
    write_safetensors(folder / name, tensors, file.metadata);
  }
  const Outcome outcome = train("run", with({"--resume"}));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const char* said :
       {"the tests before measured another score, held-out recall, not held-out accuracy",
        "best.safetensors is the best of another score, held-out recall, not held-out accuracy"})
    EXPECT_NE(outcome.out.find(said), std::string::npos) << outcome.out;
  EXPECT_EQ(steps_of("run"), "25");
  EXPECT_EQ(read_safetensors(folder / "run/best.safetensors").metadata.at("iterations"), "15");
}

TEST_F(PatienceCommand, IsTheSameInAllProcesses) {
  Words line{"launch", "-n",     "2",          "--",          "lockstep",
             "train",  config(), "OUTPUT_DIR", folder / "two"};
  for (const std::string& word : with({"--devices", "cpu"})) line.push_back(word);
  const Outcome two = run_lockstep(line);
  ASSERT_EQ(two.exit_code, 0) << two.out << two.err;
  EXPECT_NE(two.out.find("[0] ended early: 2 tests"), std::string::npos) << two.out;
  EXPECT_EQ(steps_of("two"), "15");
}

TEST_F(PatienceCommand, IsOfEveryTask) {
  write_file(folder / "control.yaml",
             "DEVICES: cpu\nTHREADS: 1\nMODEL: {TYPE: actor_critic, HIDDEN: [8]}\n"
             "CONTROL: {ENVIRONMENT: cart_pole, ENVIRONMENTS: 2, STEPS: 16, EPOCHS: 1}\n"
             "TRAIN: {BATCH_SIZE: 32}\nTEST: {ITERS: 2, EPISODES: 3, PATIENCE: 1}\n"
             "SOLVER: {BASE_LR: 0, MAX_ITER: 12}\n");
  const Outcome outcome =
      run_lockstep({"train", folder / "control.yaml", "OUTPUT_DIR", folder / "control"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("1 test without a better mean return of a test since iteration 2"),
            std::string::npos)
      << outcome.out;
  EXPECT_EQ(steps_of("control"), "4");
  expect_refused(train("run", {"TEST.PATIENCE", "-1"}), {"TEST.PATIENCE", "at least 0"});
}

}  // namespace
}  // namespace lockstep::testing
