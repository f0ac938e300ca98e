// SPDX-License-Identifier: Apache-2.0
// `lockstep train` and `lockstep test` for control: cart-pole.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "app/record/metrics.h"
#include "lockstep/model_files.h"
#include "lockstep/operators.h"
#include "runtime/state/safetensors.h"
#include "tests/support/training_command.h"

namespace lockstep::testing {
namespace {

constexpr const char* kControl = R"(DEVICES: cpu
THREADS: 1
MODEL: {TYPE: actor_critic, HIDDEN: [16]}
CONTROL: {ENVIRONMENT: cart_pole, ENVIRONMENTS: 4, STEPS: 24, EPOCHS: 3}
TRAIN: {BATCH_SIZE: 32, SNAPSHOT_ITERS: 3, LOG_ITERS: 2}
TEST: {ITERS: 5, EPISODES: 7}
SOLVER: {BASE_LR: 0.003, MAX_ITER: 12}
)";

class ControlCommand : public ::testing::Test {
 protected:
  std::string config() {
    write_file(folder / "config.yaml", kControl);
    return folder / "config.yaml";
  }
  std::vector<std::string> words(const std::string& command, const std::string& run,
                                 const std::vector<std::string>& more) {
    std::vector<std::string> all{command, config(), "OUTPUT_DIR", folder / run};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  Outcome train(const std::string& run, const std::vector<std::string>& more = {},
                const ProgramOptions& options = {}) {
    return run_lockstep(words("train", run, more), options);
  }
  Outcome launch(int processes, const std::string& run, const std::vector<std::string>& more = {}) {
    std::vector<std::string> all{"launch", "-n", std::to_string(processes), "--", "lockstep"};
    for (const std::string& word : words("train", run, more)) all.push_back(word);
    return run_lockstep(all);
  }
  std::string file(const std::string& path) { return read_file(folder / path); }
  std::vector<MetricRow> metrics(const std::string& run) {
    return read_metrics(folder / (run + "/metrics.jsonl"));
  }
  Safetensors checkpoint(const std::string& run) {
    return read_safetensors(folder / (run + "/checkpoint.safetensors"));
  }
  TemporaryFolder folder;
};

// The rows without times, which do not determine a run.
std::vector<MetricRow> without_times(std::vector<MetricRow> rows) {
  for (MetricRow& row : rows)
    std::erase_if(row, [](const auto& entry) {
      for (const char* name : {"time", "data_time", "transitions_per_second", "memory_mib", "eta"})
        if (entry.first == name) return true;
      return false;
    });
  return rows;
}

TEST_F(ControlCommand, TrainsTestsAndReports) {
  const Outcome outcome = train("run");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("96 transitions a step"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("96 of 96 rows: 3 minibatches of 32 rows"), std::string::npos);
  EXPECT_NE(outcome.out.find("over 7 episodes"), std::string::npos);
  EXPECT_EQ(outcome.out.find("loader is slow"), std::string::npos);
  const std::vector<MetricRow> rows = metrics("run");
  for (const char* name :
       {"loss", "policy_loss", "value_loss", "entropy_loss", "entropy", "divergence", "clipped",
        "mean_return", "episode_length", "episodes", "transitions_per_second", "data_time"})
    EXPECT_TRUE(std::isfinite(value_of(rows[0], name))) << name;
  EXPECT_TRUE(std::isnan(value_of(rows[0], "queue"))) << "transitions are gathered, not read ahead";
  EXPECT_GT(value_of(rows[0], "mean_return"), 5);
  EXPECT_EQ(value_of(rows[0], "mean_return"), value_of(rows[0], "episode_length"));
  EXPECT_LT(value_of(rows[0], "entropy"), std::log(2.0) + 1e-6);
  EXPECT_GT(value_of(rows.back(), "test_mean_return"), 5);
  const std::string report = file("run/report.html");
  for (const char* part :
       {"<animateTransform", "step 0</figcaption>", "Mean return", "Transitions per second",
        "7 fresh episodes", "<th>test</th><td>7 episodes</td>"})
    EXPECT_NE(report.find(part), std::string::npos) << part;
  EXPECT_EQ(report.find("mages per second"), std::string::npos);

  // The test of the newest run repeats the result of the run's last test.
  const Outcome tested = run_lockstep(words("test", "run", {"--out", folder / "scores"}));
  ASSERT_EQ(tested.exit_code, 0) << tested.err;
  const auto scores = nlohmann::json::parse(file("scores/scores.json"));
  EXPECT_EQ(scores["mean_return"], value_of(rows.back(), "test_mean_return"));
  EXPECT_EQ(scores["episodes"].size(), 7u);

  const LoadedModel network = load_model(all_ops(), folder / "run/model.onnx");
  EXPECT_EQ(network.model.inference.inputs().size(), 1u);
  EXPECT_EQ(network.model.metadata.at("environment"), "cart_pole");
  write_file(folder / "scores/scores.json", "my own");
  expect_refused(run_lockstep(words("test", "run", {"--out", folder / "scores"})),
                 {"scores/scores.json' would be overwritten"});
  EXPECT_EQ(file("scores/scores.json"), "my own");
}

TEST_F(ControlCommand, APolicyLooksAtNoPictures) {
  ASSERT_EQ(train("run").exit_code, 0);
  const std::string run = folder / "run", reason = "chooses actions and classifies no pictures";
  write_file(folder / "picture.png", "");
  for (const std::string& source : {run, run + "/model.onnx"})
    for (const std::vector<std::string>& more : {std::vector<std::string>{}, {"--top", "3"}}) {
      std::vector<std::string> line{"infer", source, folder / "picture.png"};
      line.insert(line.end(), more.begin(), more.end());
      expect_refused(run_lockstep(line), {reason, "`lockstep test` lets it act"});
    }
  expect_refused(run_lockstep({"export", run, "-o", folder / "policy.onnx"}), {reason});
  EXPECT_FALSE(std::filesystem::exists(folder / "policy.onnx"));
  expect_refused(run_lockstep(words("test", "none", {"--out", folder / "no_scores"})),
                 {"there is no run in"});
  EXPECT_FALSE(std::filesystem::exists(folder / "no_scores"));
}

TEST_F(ControlCommand, TwiceTheSameBits) {
  ASSERT_EQ(train("once", {"--devices", "cpu*2"}).exit_code, 0);
  ASSERT_EQ(train("twice", {"--devices", "cpu*2"}).exit_code, 0);
  EXPECT_EQ(checkpoint("once").tensors, checkpoint("twice").tensors);
  EXPECT_EQ(without_times(metrics("once")), without_times(metrics("twice")));
  ASSERT_EQ(train("other", {"--devices", "cpu*2", "RNG_SEED", "4"}).exit_code, 0);
  EXPECT_NE(checkpoint("once").tensors, checkpoint("other").tensors);
}

// Environments, episodes and counts of steps continue, also in the middle of a log interval or an
// episode.
TEST_F(ControlCommand, ResumesToTheSameBits) {
  ASSERT_EQ(train("whole").exit_code, 0);
  ASSERT_EQ(train("cut", {"SOLVER.MAX_ITER", "7", "SOLVER.LR_POLICY", "step"}).exit_code, 0);
  ASSERT_EQ(train("other", {"SOLVER.LR_POLICY", "step"}).exit_code, 0);
  const Outcome outcome = train("cut", {"--resume", "SOLVER.LR_POLICY", "step"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("resumed after iteration 7"), std::string::npos) << outcome.out;
  EXPECT_EQ(checkpoint("cut").tensors, checkpoint("other").tensors);
  EXPECT_EQ(checkpoint("cut").metadata.at("rounds"), checkpoint("other").metadata.at("rounds"));
  EXPECT_NE(checkpoint("cut").tensors, checkpoint("whole").tensors);
  EXPECT_EQ(without_times(metrics("cut")).back(), without_times(metrics("other")).back());
}

TEST_F(ControlCommand, AfterKillGivesTheSameBits) {
  const std::vector<std::string> longer{"SOLVER.MAX_ITER", "150", "TEST.ITERS", "1000"};
  ASSERT_EQ(train("whole", longer).exit_code, 0);
  std::vector<std::string> again = longer;
  again.insert(again.end(), {"--resume", "auto"});
  int killed = 0;
  for (long delay : {30, 60, 90, 140, 200})
    killed += train("cut", again, {.kill_after_ms = delay}).exit_code == 128 + 9;
  EXPECT_GE(killed, 1) << "the run ended before it could be killed";
  ASSERT_EQ(train("cut", again).exit_code, 0);
  EXPECT_EQ(checkpoint("whole").tensors, checkpoint("cut").tensors);
  EXPECT_EQ(checkpoint("whole").metadata.at("rounds"), checkpoint("cut").metadata.at("rounds"));
}

TEST_F(ControlCommand, TwoProcessesAreTwoReplicas) {
  ASSERT_EQ(train("replicas", {"--devices", "cpu*2"}).exit_code, 0);
  const Outcome outcome = launch(2, "processes");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(checkpoint("replicas").tensors, checkpoint("processes").tensors);
  EXPECT_EQ(checkpoint("replicas").metadata.at("rounds"),
            checkpoint("processes").metadata.at("rounds"));
  const auto one = without_times(metrics("replicas")), two = without_times(metrics("processes"));
  ASSERT_EQ(one.size(), two.size());
  EXPECT_EQ(value_of(one.back(), "test_mean_return"), value_of(two.back(), "test_mean_return"));
  for (std::size_t row = 0; row < one.size(); ++row)
    for (const char* name : {"mean_return", "episodes"})
      if (std::isfinite(value_of(one[row], name))) {
        EXPECT_EQ(value_of(one[row], name), value_of(two[row], name)) << name;
      }
}

// The result of a test ends the run, with all final files.
TEST_F(ControlCommand, StopsAtAMeanReturn) {
  const Outcome outcome = train("run", {"TEST.STOP_AT", "5"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("after 5 iterations"), std::string::npos) << outcome.out;
  EXPECT_EQ(checkpoint("run").metadata.at("steps"), "5");
  EXPECT_TRUE(std::filesystem::exists(folder / "run/model.onnx"));
  EXPECT_NE(file("run/report.html").find("Finished"), std::string::npos);
}

TEST_F(ControlCommand, BadSettingsAreNamed) {
  const auto refused = [&](const std::vector<std::string>& more,
                           const std::vector<std::string>& parts) {
    SCOPED_TRACE(more[1]);
    expect_refused(train("run", more), parts);
    EXPECT_FALSE(std::filesystem::exists(folder / "run"));
  };
  refused({"CONTROL.ENVIRONMENT", "cart_poll"},
          {"CONTROL.ENVIRONMENT: there is no environment 'cart_poll'; did you mean 'cart_pole'?"});
  refused({"MODEL.TYPE", "actor_critik"},
          {"MODEL.TYPE 'actor_critik'", "did you mean actor_critic?"});
  refused({"CONTROL.ENVIRONMENTS", "5", "--devices", "cpu*2"},
          {"CONTROL.ENVIRONMENTS 5 cannot be split equally over the 2 replicas of DEVICES cpu*2"});
  refused({"TRAIN.BATCH_SIZE", "97"},
          {"TRAIN.BATCH_SIZE 97 is larger", "CONTROL.ENVIRONMENTS 4 with CONTROL.STEPS 24"});
  refused({"TRAIN.BATCH_SIZE", "33", "--devices", "cpu*2"},
          {"TRAIN.BATCH_SIZE 33 cannot be split"});
  refused({"TRAIN.MICRO_BATCHES", "2"}, {"TRAIN.MICRO_BATCHES is 2", "lower TRAIN.BATCH_SIZE"});
  refused({"CONTROL.CLIP", "1"}, {"CONTROL.CLIP is 1, should be between 0 and 1"});
  refused({"CONTROL.DISCOUNT", "1.5"}, {"CONTROL.DISCOUNT", "1.5", "should be at most 1"});
  refused({"CONTROL.EPOCS", "2"}, {"CONTROL.EPOCS", "CONTROL.EPOCHS"});
  refused({"DATA.NAME", "digits"}, {"DATA.NAME"});
  refused({"CONTROL.ENVIRONMENTS", "16777216", "CONTROL.STEPS", "1000"},
          {"CONTROL.ENVIRONMENTS 16777216 with CONTROL.STEPS 1000 make 16777216000 rows"});
}

TEST_F(ControlCommand, AnotherRunIsNotResumed) {
  ASSERT_EQ(train("run", {"SOLVER.MAX_ITER", "3"}).exit_code, 0);
  expect_refused(train("run", {"--resume", "CONTROL.ENVIRONMENTS", "8"}),
                 {"checkpoint.safetensors", "CONTROL.ENVIRONMENTS 4", "now it is 8"});
  const std::string path = folder / "run/checkpoint.safetensors";
  const auto with_rounds = [&](const std::string& rounds) {
    Safetensors saved = read_safetensors(path);
    std::vector<std::pair<std::string, Tensor>> tensors;
    for (const auto& [name, value] : saved.tensors) tensors.emplace_back(name, view_of(value));
    saved.metadata["rounds"] = rounds;
    write_safetensors(path, tensors, saved.metadata);
  };
  const std::string whole = checkpoint("run").metadata.at("rounds");
  with_rounds("");
  expect_refused(train("run", {"--resume"}), {"its metadata lacks 'rounds'"});
  with_rounds(whole.substr(whole.find('\n') + 1));
  expect_refused(train("run", {"--resume"}),
                 {"the checkpoint has 3 environments, but CONTROL.ENVIRONMENTS is 4"});
  with_rounds("0 zero\n" + whole.substr(whole.find('\n') + 1));
  expect_refused(train("run", {"--resume"}), {"the saved state of cart_pole number 0 is '0 zero'"});
  with_rounds(whole + "1 2 three\n");
  expect_refused(train("run", {"--resume"}), {"rounds: an episode is '1 2 three'"});
  with_rounds(whole);
  EXPECT_EQ(train("run", {"--resume", "--devices", "cpu*2"}).exit_code, 0);
}

// The rate is far too high. The run names the first value that is not finite.
TEST_F(ControlCommand, ALossThatIsNoNumberIsExplained) {
  const Outcome outcome = train("run", {"SOLVER.BASE_LR", "1e30", "SOLVER.TYPE", "SGD"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_NE(outcome.err.find("at iteration"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("lower SOLVER.BASE_LR"), std::string::npos) << outcome.err;
}

TEST_F(ControlCommand, OtherCommandsKnowItsConfiguration) {
  const std::string path = config();
  Outcome outcome = run_lockstep({"build", path, "--devices", "cpu*2", "-o", folder / "step.onnx"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  outcome = run_lockstep({"inspect", folder / "step.onnx"});
  EXPECT_NE(outcome.out.find("policy_loss"), std::string::npos) << outcome.out;
  outcome = run_lockstep({"plan", path});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  outcome = run_lockstep({"inspect", path, "--format", "config"});
  EXPECT_NE(outcome.out.find("ENVIRONMENT: cart_pole"), std::string::npos) << outcome.out;
  outcome = run_lockstep({"keys", "--task", "control", "LAMBDA"});
  EXPECT_NE(outcome.out.find("CONTROL.LAMBDA"), std::string::npos) << outcome.out;
  write_file(folder / "picture.png", "");
  expect_refused(run_lockstep({"infer", path, folder / "picture.png"}),
                 {"MODEL.TYPE actor_critic chooses actions and classifies no pictures"});
  expect_refused(run_lockstep({"test", path, "OUTPUT_DIR", folder / "none"}),
                 {"there is no run in"});
}

// LOCKSTEP_UPDATE_GOLDEN=1 rewrites the page.
TEST_F(ControlCommand, ThePageOfKeysIsComplete) {
  const std::string page = run_lockstep({"keys", "--task", "control", "--markdown"}).out;
  const std::string path = std::string(LOCKSTEP_SOURCE_DIR) + "/docs/control_keys.md";
  if (std::getenv("LOCKSTEP_UPDATE_GOLDEN")) write_file(path, page);
  EXPECT_EQ(read_file(path), page)
      << "`lockstep keys --task control --markdown > docs/control_keys.md`";
}

// The acceptance test with one seed: the configuration in configs/ learns to balance.
TEST_F(ControlCommand, TheExampleBalancesThePole) {
  const std::string example = std::string(LOCKSTEP_SOURCE_DIR) + "/configs/control/cart_pole.yaml";
  const Outcome outcome = run_lockstep(
      {"train", example, "OUTPUT_DIR", folder / "run", "TEST.STOP_AT", "475", "TEST.ITERS", "10"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Outcome tested =
      run_lockstep({"test", example, "OUTPUT_DIR", folder / "run", "--out", folder / "scores"});
  ASSERT_EQ(tested.exit_code, 0) << tested.err;
  EXPECT_GE(nlohmann::json::parse(file("scores/scores.json"))["mean_return"], 475) << tested.out;
}

}  // namespace
}  // namespace lockstep::testing
