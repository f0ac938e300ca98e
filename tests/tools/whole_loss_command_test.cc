// SPDX-License-Identifier: Apache-2.0
// TRAIN.WHOLE_LOSS: an additional number for each step, in every task that supports it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "app/format.h"
#include "app/record/metrics.h"
#include "lockstep/error.h"
#include "tests/support/training_command.h"

namespace lockstep::testing {
namespace {

using Words = std::vector<std::string>;

class WholeLossCommand : public TrainingCommand {
 protected:
  std::vector<MetricRow> metrics(const std::string& run) {
    return read_metrics(folder / (run + "/metrics.jsonl"));
  }
  // The rows of training, without rows of tests.
  std::vector<std::pair<double, double>> losses(const std::string& run) {
    std::vector<std::pair<double, double>> found;
    for (const MetricRow& row : metrics(run))
      if (std::any_of(row.begin(), row.end(),
                      [](const auto& entry) { return entry.first == "whole_loss"; }))
        found.emplace_back(value_of(row, "loss"), value_of(row, "whole_loss"));
    return found;
  }
  // Each line of progress shows the number as a loss, not as a fraction.
  void expect_shown(const std::string& run, const std::string& printed) {
    for (const auto& [loss, whole] : losses(run))
      EXPECT_NE(printed.find(join("  whole_loss ", fixed(whole, 4), "  lr ")), std::string::npos)
          << run << ": " << whole << "\n"
          << printed;
  }
};

// Without batch norm, the number is the mean of the replicas' losses.
TEST_F(WholeLossCommand, IsAMetricOfARunThatTrainsTheSameBits) {
  const Words short_run{"SOLVER.MAX_ITER", "15"};
  Words with = short_run;
  with.insert(with.end(), {"TRAIN.WHOLE_LOSS", "true"});
  ASSERT_EQ(train("without", short_run).exit_code, 0);
  const Outcome outcome = train("with", with);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_TRUE(losses("without").empty());
  ASSERT_EQ(losses("with").size(), 3u);
  expect_shown("with", outcome.out);
  // LOG_ITERS 5: both numbers are means over the same steps.
  for (const auto& [loss, whole] : losses("with")) EXPECT_NEAR(whole, loss, 1e-5 * loss);
  const Outcome compared =
      run_lockstep({"inspect", folder / "with/config.yaml", "--format", "order"});
  EXPECT_NE(compared.out.find("cpu_1/whole_loss"), std::string::npos) << compared.out;
  ASSERT_EQ(train("resumed",
                  [&] {
                    Words words = with;
                    words[1] = "8";
                    return words;
                  }())
                .exit_code,
            0);
  std::filesystem::remove(folder / "resumed/config.yaml");
  Words resumed = with;
  resumed.push_back("--resume");
  ASSERT_EQ(train("resumed", resumed).exit_code, 0);
  EXPECT_EQ(losses("resumed").back(), losses("with").back());
}

TEST_F(WholeLossCommand, IsTheSameOverProcesses) {
  const Words keys{"SOLVER.MAX_ITER", "10", "TRAIN.WHOLE_LOSS", "true"};
  Words one = keys,
        two{"launch",     "-n",           "2",       "--", "lockstep", "train", config(),
            "OUTPUT_DIR", folder / "two", "DEVICES", "cpu"};
  two.insert(two.end(), keys.begin(), keys.end());
  ASSERT_EQ(train("one", one).exit_code, 0);
  const Outcome outcome = run_lockstep(two);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  ASSERT_EQ(losses("two").size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {  // sums over processes have other roundings
    EXPECT_NEAR(losses("two")[i].first, losses("one")[i].first, 1e-6);
    EXPECT_NEAR(losses("two")[i].second, losses("one")[i].second, 1e-6);
  }
  two.insert(two.end(), {"TRAIN.BATCH_SIZE", "15"});
  const Outcome unequal = run_lockstep(two);
  EXPECT_EQ(unequal.exit_code, 2);
  for (const char* part : {"] lockstep: whole_loss (TRAIN.WHOLE_LOSS)", "TRAIN.BATCH_SIZE"})
    EXPECT_NE(unequal.out.find(part), std::string::npos) << unequal.out;
}

TEST_F(WholeLossCommand, OfLanguageModelsAndOfControl) {
  std::string words;
  for (int i = 0; i < 2'000; ++i) words += i % 3 ? "steps " : "of replicas\n";
  write_file(folder / "a.txt", words);
  write_file(folder / "text.yaml", R"(DEVICES: cpu*2
THREADS: 1
MODEL: {TYPE: char_lstm, EMBEDDING: 8, HIDDEN: 16}
DATA: {FILES: ['*.txt'], LENGTH: 16}
TRAIN: {BATCH_SIZE: 9, LOG_ITERS: 5, WHOLE_LOSS: true}
TEST: {ITERS: 100, SAMPLE_LENGTH: 20}
SOLVER: {TYPE: Adam, BASE_LR: 0.01, MAX_ITER: 10, WEIGHT_DECAY: 0}
)");
  write_file(folder / "control.yaml", R"(DEVICES: cpu*2
THREADS: 1
MODEL: {TYPE: actor_critic, HIDDEN: [16]}
CONTROL: {ENVIRONMENT: cart_pole, ENVIRONMENTS: 4, STEPS: 24, EPOCHS: 2}
TRAIN: {BATCH_SIZE: 32, LOG_ITERS: 2, WHOLE_LOSS: true}
TEST: {ITERS: 100, EPISODES: 2}
SOLVER: {BASE_LR: 0.003, MAX_ITER: 4}
)");
  for (const auto& [name, key] :
       {std::pair{"text", std::pair<std::string, std::string>{"DATA.ROOT", folder.path()}},
        {"control", {"RNG_SEED", "3"}}}) {
    const Outcome outcome = run_lockstep({"train", folder / (std::string(name) + ".yaml"),
                                          "OUTPUT_DIR", folder / name, key.first, key.second});
    ASSERT_EQ(outcome.exit_code, 0) << name << ": " << outcome.err;
    ASSERT_EQ(losses(name).size(), 2u) << name;
    expect_shown(name, outcome.out);
    for (const auto& [loss, whole] : losses(name))
      EXPECT_NEAR(whole, loss, 1e-4 * std::max(1.0, std::abs(loss))) << name;
  }
  // Minibatches of the resident batch move to another process.
  const Outcome outcome =
      run_lockstep({"launch", "-n", "2", "--", "lockstep", "train", folder / "control.yaml",
                    "OUTPUT_DIR", folder / "two", "DEVICES", "cpu", "RNG_SEED", "3"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  ASSERT_EQ(losses("two").size(), 2u);
  for (std::size_t i = 0; i < 2; ++i)
    EXPECT_NEAR(losses("two")[i].second, losses("control")[i].second, 1e-5);
}

TEST_F(WholeLossCommand, ADetectorRefusesItByName) {
  const std::string path =
      std::string(LOCKSTEP_SOURCE_DIR) + "/configs/detection/scenes_faster_rcnn_fpn.yaml";
  for (const char* command : {"train", "build"})
    expect_refused(run_lockstep({command, path, "TRAIN.WHOLE_LOSS", "true"}),
                   {"TRAIN.WHOLE_LOSS", "TRAIN.IMS_PER_BATCH", "loss of the whole batch"});
}

}  // namespace
}  // namespace lockstep::testing
