// SPDX-License-Identifier: Apache-2.0
// Ctrl-C and SIGTERM: every rank finishes and saves the same step.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "graph/printable.h"
#include "runtime/state/safetensors.h"
#include "tests/support/training_command.h"
#include "tests/tools/launch_fixture.h"

namespace lockstep::testing {
namespace {

class Interrupted : public TrainingCommand {
 protected:
  std::vector<std::string> long_run(const std::string& run) {
    return {"train", config(), "OUTPUT_DIR", folder / run, "SOLVER.MAX_ITER", "1000000"};
  }
  void expect_goes_on(const std::string& run, const std::string& out) {
    const auto at = out.find("after iteration ");
    ASSERT_NE(at, std::string::npos) << out;
    const std::string done = std::to_string(std::atoi(out.c_str() + at + 16));
    EXPECT_NE(out.find("--resume " + shell_word(folder / run)), std::string::npos) << out;
    // Equal bit for bit to an uninterrupted run of the same length.
    ASSERT_EQ(train("whole_" + run, {"SOLVER.MAX_ITER", done}).exit_code, 0);
    const Safetensors cut = saved(run), whole = saved("whole_" + run);
    EXPECT_EQ(cut.tensors, whole.tensors);
    EXPECT_EQ(cut.metadata, whole.metadata);
  }
  // Without the losses of rows that are still open, which a finished run does not have.
  Safetensors saved(const std::string& run) {
    Safetensors file = read_safetensors(folder / (run + "/checkpoint.safetensors"));
    std::erase_if(file.metadata, [](const auto& entry) {
      return entry.first == "open window" || entry.first.starts_with("crc32c");
    });
    return file;
  }
};

TEST_F(Interrupted, BySignalsTheRunIsSaved) {
  for (auto [signal, name] : {std::pair{SIGINT, "a run's folder"}, {SIGTERM, "term"}}) {
    Program run(long_run(name));
    ASSERT_TRUE(run.wait_for("iter     20"));
    run.send_signal(signal);
    run.send_signal(signal);  // the launcher's signal for the same Ctrl-C
    Outcome outcome = run.finish();
    EXPECT_EQ(outcome.exit_code, 128 + signal);
    expect_goes_on(name, outcome.out);
  }
}

// The value of a line of a thread's status, for example 0x4002 for "SigBlk: 0000000000004002".
uint64_t mask_in(const std::string& status, const std::string& name) {
  const auto at = status.find(name + ":");
  EXPECT_NE(at, std::string::npos) << status;
  return std::stoull(status.substr(at + name.size() + 1), nullptr, 16);
}

// A handler's frame is written below the stack pointer, and oneDNN's matrix products point the
// stack pointer into the heap.
TEST_F(Interrupted, NoThreadThatComputesRunsAHandler) {
  const uint64_t both = uint64_t{1} << (SIGINT - 1) | uint64_t{1} << (SIGTERM - 1);
  std::vector<std::string> words = long_run("run");
  words.insert(words.end(), {"DEVICES", "cpu*2", "THREADS", "2"});
  Program run(words);
  ASSERT_TRUE(run.wait_for("iter     20"));
  int threads = 0, receivers = 0;
  for (const auto& thread :
       std::filesystem::directory_iterator(join("/proc/", run.id(), "/task"))) {
    std::ifstream file(thread.path() / "status");
    const std::string status{std::istreambuf_iterator<char>(file), {}};
    receivers += (mask_in(status, "SigBlk") & both) != both;
    EXPECT_EQ(mask_in(status, "SigCgt") & both, uint64_t{0}) << status;
    ++threads;
  }
  EXPECT_EQ(receivers, 1);
  EXPECT_GE(threads, 5);  // two replicas, their helpers, the receiver of signals
  run.send_signal(SIGTERM);
  EXPECT_EQ(run.finish().exit_code, 128 + SIGTERM);
}

// The run waits for its configuration from a silent pipe.
TEST_F(Interrupted, BeforeTheFirstStepTheRunSaysSo) {
  for (auto [signal, word] : {std::pair{SIGINT, "interrupted"}, {SIGTERM, "stopped by SIGTERM"}}) {
    const std::string pipe = folder / word;
    ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
    Program run({"train", pipe});
    const int end = open(pipe.c_str(), O_WRONLY);  // once the run reads
    run.send_signal(signal);
    const Outcome outcome = run.finish();
    close(end);
    EXPECT_EQ(outcome.exit_code, 128 + signal);
    EXPECT_EQ(outcome.err, join("lockstep: ", word, " before the first step; nothing was saved\n"));
  }
}

using InterruptedRanks = LaunchTest;

std::string ending_of(const Outcome& outcome) {
  const auto at = outcome.out.find("after iteration ");
  return at == std::string::npos ? outcome.out + outcome.err
                                 : std::to_string(std::atoi(outcome.out.c_str() + at + 16));
}

// One rank gets the signal; all ranks end after the same step.
TEST_F(InterruptedRanks, AllEndAfterTheSameStep) {
  for (int told = 0; told < 3; ++told) {
    const std::string run = join("run", told);
    std::vector<std::unique_ptr<Program>> ranks;
    for (int r = 0; r < 3; ++r)
      ranks.push_back(
          rank(r, train(run, {"SOLVER.MAX_ITER", "1000000"}), {"file://" + store(), 3, 20}));
    next_meeting();
    ASSERT_TRUE(ranks[0]->wait_for("iter     50"));
    ranks[told]->send_signal(SIGINT);
    std::vector<Outcome> outcomes;
    for (auto& one : ranks) outcomes.push_back(one->finish());
    for (const Outcome& outcome : outcomes) EXPECT_EQ(outcome.exit_code, 130) << outcome.err;
    const std::string done = ending_of(outcomes[0]);
    const Outcome whole = launch(3, train("whole" + run, {"SOLVER.MAX_ITER", done}));
    ASSERT_EQ(whole.exit_code, 0) << done << whole.out;
    EXPECT_TRUE(weights(run) == weights("whole" + run));
  }
}

TEST_F(InterruptedRanks, TheLauncherPassesItOn) {
  for (int signal : {SIGINT, SIGTERM}) {
    const std::string run = join("run", signal);
    std::vector<std::string> words{"launch", "-n", "2", "--", "lockstep"};
    for (const std::string& word : train(run, {"SOLVER.MAX_ITER", "1000000"}))
      words.push_back(word);
    Program launcher(words);
    ASSERT_TRUE(launcher.wait_for("iter     50"));
    launcher.send_signal(signal);
    const Outcome outcome = launcher.finish();
    EXPECT_EQ(outcome.exit_code, 128 + signal) << outcome.err;
    const std::string one_more = std::to_string(std::stoll(ending_of(outcome)) + 1);
    EXPECT_EQ(launch(2, train(run, {"--resume", "SOLVER.MAX_ITER", one_more})).exit_code, 0);
  }
}

// The step cannot finish, because another rank is stopped.
TEST_F(InterruptedRanks, ASecondSignalEndsTheProcessAtOnce) {
  std::vector<std::unique_ptr<Program>> ranks;
  for (int r = 0; r < 2; ++r)
    ranks.push_back(
        rank(r, train("run", {"SOLVER.MAX_ITER", "1000000"}), {"file://" + store(), 2, 60}));
  ASSERT_TRUE(ranks[0]->wait_for("iter     50"));
  ranks[1]->send_signal(SIGSTOP);
  ranks[0]->send_signal(SIGINT);
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  ranks[0]->send_signal(SIGINT);
  const Outcome outcome = ranks[0]->finish();
  EXPECT_EQ(outcome.exit_code, 130);
  EXPECT_EQ(outcome.err.find("is stopped or unreachable"), std::string::npos) << outcome.err;
}

}  // namespace
}  // namespace lockstep::testing
