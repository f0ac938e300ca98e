// SPDX-License-Identifier: Apache-2.0
// `lockstep launch --restarts`: a job that loses a process starts again by itself.
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/tools/launch_fixture.h"

namespace lockstep::testing {
namespace {

using Words = std::vector<std::string>;

class RestartTest : public LaunchTest {
 protected:
  static Words launched(const Words& options, const Words& command) {
    Words words{"launch", "-n", "2"};
    words.insert(words.end(), options.begin(), options.end());
    words.insert(words.end(), {"--", "lockstep"});
    words.insert(words.end(), command.begin(), command.end());
    return words;
  }
  // The processes of a launch, in the order of their start.
  static std::vector<pid_t> children_of(pid_t launch) {
    std::ifstream list(join("/proc/", launch, "/task/", launch, "/children"));
    std::vector<pid_t> children;
    for (pid_t child = 0; list >> child;) children.push_back(child);
    return children;
  }
  static std::size_t times(const std::string& text, const std::string& part) {
    std::size_t count = 0;
    for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
    return count;
  }
};

// Rank 1 is killed after a checkpoint. The job continues in its own folder, though an older run of
// the series has a checkpoint, too.
TEST_F(RestartTest, ContinuesTheRunThatLostAProcess) {
  ASSERT_EQ(launch(2, train("run", {"SOLVER.MAX_ITER", "20"})).exit_code, 0);
  Program program(launched({"--restarts", "3"}, train("run", {"SOLVER.MAX_ITER", "100000"})));
  ASSERT_TRUE(program.wait_for("iter    100/"));
  const std::vector<pid_t> children = children_of(program.id());
  ASSERT_EQ(children.size(), 2u);
  kill(children[1], SIGKILL);
  ASSERT_TRUE(program.wait_for("resumed after iteration "));
  program.send_signal(SIGTERM);
  const Outcome outcome = program.finish();
  EXPECT_EQ(outcome.exit_code, 128 + SIGTERM) << "a user's signal restarts nothing";
  EXPECT_NE(outcome.err.find("rank 1 (process "), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("lockstep: restart 1 of 3: all processes start again, from "),
            std::string::npos)
      << outcome.err;
  EXPECT_NE(outcome.err.find("/run.2/checkpoint.safetensors"), std::string::npos) << outcome.err;
  EXPECT_FALSE(std::filesystem::exists(folder / "run.3"));
}

// The command kills itself once, in its first life, after its checkpoint at iteration 50.
TEST_F(RestartTest, GivesTheBitsOfAnUndisturbedRun) {
  ASSERT_EQ(launch(2, train("whole")).exit_code, 0);
  const std::string script =
      "if [ $RANK = 1 ] && [ ! -e \"$0/once\" ]; then touch \"$0/once\"; \"$@\" & "
      "while [ ! -e \"$0/run/checkpoint.safetensors\" ]; do sleep 0.02; done; kill -9 $!; wait $!; "
      "exit 137; else exec \"$@\"; fi";
  Words words{"launch", "-n", "2",    "--restarts",  "1",       "--",
              "sh",     "-c", script, folder.path(), run_path()};
  for (const std::string& word : train("run")) words.push_back(word);
  const Outcome outcome = run_lockstep(words);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  EXPECT_EQ(times(outcome.err, "lockstep: restart "), 1u) << outcome.err;
  EXPECT_NE(outcome.out.find("resumed after iteration "), std::string::npos) << outcome.out;
  EXPECT_EQ(weights("run"), weights("whole"));
}

// The traced steps passed in the first life of the run, which has written their trace.
TEST_F(RestartTest, ATraceOfPassedStepsIsNoError) {
  const std::string trace = folder / "trace.json";
  Program program(launched(
      {"--restarts", "1"},
      train("run", {"SOLVER.MAX_ITER", "100000", "--trace", trace, "--trace-steps", "3:5"})));
  ASSERT_TRUE(program.wait_for("iter    100/"));
  const std::string written = read_file(trace);
  const std::vector<pid_t> children = children_of(program.id());
  ASSERT_EQ(children.size(), 2u);
  kill(children[1], SIGKILL);
  ASSERT_TRUE(program.wait_for("resumed after iteration "));
  program.send_signal(SIGTERM);
  const Outcome outcome = program.finish();
  EXPECT_EQ(outcome.exit_code, 128 + SIGTERM) << outcome.out << outcome.err;
  EXPECT_EQ(times(outcome.out, "--trace-steps 3:5: the run was started again and goes on with "),
            1u)
      << outcome.out;
  EXPECT_EQ(read_file(trace), written);
}

TEST_F(RestartTest, EndsAfterItsNumberOfRestarts) {
  const Outcome outcome =
      run_lockstep({"launch", "-n", "1", "--restarts", "2", "--", "sh", "-c", "kill -9 $$"});
  EXPECT_EQ(outcome.exit_code, 128 + SIGKILL);
  EXPECT_EQ(times(outcome.err, "with the command as it is: there is no checkpoint yet"), 2u)
      << outcome.err;
  const Outcome never = run_lockstep({"launch", "-n", "1", "--", "sh", "-c", "kill -9 $$"});
  EXPECT_EQ(never.exit_code, 128 + SIGKILL);
  EXPECT_EQ(times(never.err, "restart"), 0u) << never.err;
}

TEST_F(RestartTest, AnErrorOfTheCommandIsNotRepeated) {
  const Outcome outcome = run_lockstep(launched({"--restarts", "5"}, train("run", {"TYPO", "1"})));
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(times(outcome.err, "restart"), 0u) << outcome.err;
  expect_refused(run_lockstep({"launch", "--restarts", "-1", "--", "true"}), {"--restarts"});
}

}  // namespace
}  // namespace lockstep::testing
