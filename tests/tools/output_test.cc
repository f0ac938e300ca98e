// SPDX-License-Identifier: Apache-2.0
// Unwritable standard output: a command with lost output fails, and loses nothing else.
#include <gtest/gtest.h>

#include <filesystem>

#include "lockstep/model_files.h"
#include "lockstep/operators.h"
#include "tests/support/pictures.h"
#include "tests/support/training_command.h"

namespace lockstep::testing {
namespace {

namespace fs = std::filesystem;

class OutputTest : public TrainingCommand {
 protected:
  void expect_lost(const std::vector<std::string>& words) {
    SCOPED_TRACE(words.front() + (words.size() > 1 ? " " + words[1] : ""));
    const Outcome outcome = run_lockstep(words, {.output = "/dev/full"});
    expect_refused(outcome, {"cannot write to standard output: No space left on device"});
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  }
};

TEST_F(OutputTest, ThatIsLostEndsEveryCommandWithTwo) {
  ASSERT_EQ(train("run", {"SOLVER.MAX_ITER", "2"}).exit_code, 0);
  const std::string step = folder / "step.onnx", net = folder / "run/model.onnx";
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"--help"},
        {"--version"},
        {"help"},
        {"help", "train"},
        {"train", "--help"},
        {"launch", "--help"},
        {"doctor"},
        {"keys"},
        {"keys", "--markdown"},
        {"manual"},
        {"completion", "bash"},
        {"build", "mlp", "-o", step},
        {"inspect", net},
        {"inspect", net, "--format", "text"},
        {"plan", "mlp"},
        {"export", folder / "run", "-o", folder / "out.onnx"},
        {"test", folder / "run/config.yaml"},
        {"scenes", "--images", "1", "--out", folder / "scenes"},
        {"launch", "-n", "1", "--", "lockstep", "keys"},
        {"bench", "build-graph", "--model", "mlp", "--replicas", "1"}})
    expect_lost(words);
  // The work is done.
  EXPECT_EQ(load_model(all_ops(), step).model.replicas, 1);
  EXPECT_TRUE(fs::exists(folder / "out.onnx"));
  EXPECT_TRUE(fs::exists(folder / "scenes/annotations.json"));
}

TEST_F(OutputTest, ThatIsLostCostsARunNothing) {
  const Outcome lost = train("lost", {}, {.output = "/dev/full"});
  expect_refused(lost, {"cannot write to standard output"});
  ASSERT_EQ(train("whole").exit_code, 0);
  EXPECT_TRUE(checkpoint("lost") == checkpoint("whole"));
  EXPECT_TRUE(fs::exists(folder / "lost/model.onnx"));
  EXPECT_TRUE(fs::exists(folder / "lost/report.html"));
  // Nothing is printed, so nothing can be lost.
  EXPECT_EQ(train("quiet", {"--quiet"}, {.output = "/dev/full"}).exit_code, 0);
  // An earlier error keeps its exit code, and both errors are reported.
  write_file(folder / "none.png", "no picture");
  write_png(folder / "digit.png", gradient_image(28, 28));
  const Outcome both = run_lockstep(
      {"infer", folder / "whole/model.onnx", folder / "digit.png", folder / "none.png"},
      {.output = "/dev/full"});
  expect_refused(both, {"none.png", "cannot write to standard output"});
}

// A new file could get the number of the closed stream, and the lines for the stream.
TEST_F(OutputTest, ThatIsClosedLandsInNoFile) {
  const Outcome closed = train("closed", {}, {.output_closed = true});
  expect_refused(closed, {"cannot write to standard output: Bad file descriptor"});
  ASSERT_EQ(train("whole").exit_code, 0);
  EXPECT_TRUE(checkpoint("closed") == checkpoint("whole"));
  EXPECT_EQ(load_model(all_ops(), folder / "closed/model.onnx").model.replicas, 1);
}

}  // namespace
}  // namespace lockstep::testing
