// SPDX-License-Identifier: Apache-2.0
// Steps as files: building, inspecting, planning, refusing.
#include <gtest/gtest.h>

#include <sstream>

#include "graph/file.h"
#include "tests/support/training_command.h"

namespace lockstep::testing {
namespace {

using PlanCommand = TrainingCommand;

TEST_F(PlanCommand, BuildInspectAndPlanWorkTogether) {
  std::string step = folder / "step.onnx";
  Outcome built = run_lockstep({"build", "lenet", "--devices", "gpu*8", "-o", step});
  ASSERT_EQ(built.exit_code, 0) << built.err;
  EXPECT_NE(built.out.find("8 replicas"), std::string::npos);
  EXPECT_NE(run_lockstep({"inspect", step}).out.find("replicas   8"), std::string::npos);
  EXPECT_NE(run_lockstep({"inspect", step, "--format", "text"}).out.find("gpu_7/conv1 = Conv("),
            std::string::npos);
  EXPECT_NE(run_lockstep({"inspect", step, "--format", "order"}).out.find("AllReduce"),
            std::string::npos);
  EXPECT_NE(run_lockstep({"inspect", step, "--format", "dot"}).out.find("digraph"),
            std::string::npos);
  Outcome planned = run_lockstep({"plan", step, "--devices", "cpu*8"});
  EXPECT_EQ(planned.exit_code, 0) << planned.err;
  for (const char* said : {"8 replicas: one for all, of which each updates a part",
                           "AllReduce [shared memory] gpu_0/conv1_w_grad@cpu:0"})
    EXPECT_NE(planned.out.find(said), std::string::npos) << said;
  // Every replica checks the sums for values that are not finite.
  const std::string checked = folder / "checked.onnx";
  built = run_lockstep(
      {"build", "lenet", "--devices", "gpu*8", "--precision", "float16", "-o", checked});
  ASSERT_EQ(built.exit_code, 0) << built.err;
  planned = run_lockstep({"plan", checked, "--devices", "cpu*8"});
  EXPECT_NE(planned.out.find("AllReduce part 7/8"), std::string::npos);
  write_file(folder / "bad.onnx", read_file(step).substr(0, 5000));
  expect_refused(run_lockstep({"inspect", folder / "bad.onnx"}), {"bad.onnx"});
  for (const char* devices : {"2", "9"})
    expect_refused(run_lockstep({"plan", step, "--devices", std::string("cpu*") + devices}),
                   {"has 8 replicas, but there are ", devices, " devices"});
  expect_refused(run_lockstep({"plan", step, "--devices", "cpu"}),
                 {"has 8 replicas, but there is 1 device; use --devices cpu*8"});
  expect_refused(run_lockstep({"build", "lenet", "-o", ""}), {"-o is empty"});
}

TEST_F(PlanCommand, PlanSaysWhyAKernelWasNotTheFirst) {
  const std::string step = folder / "step.onnx";
  auto planned = [&](const std::string& precision, std::vector<std::string> more) {
    const Outcome built =
        run_lockstep({"build", "lenet", "--devices", "cpu", "--precision", precision, "-o", step});
    EXPECT_EQ(built.exit_code, 0) << built.err;
    more.insert(more.begin(), {"plan", step, "--devices", "cpu"});
    const Outcome outcome = run_lockstep(more);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return outcome.out;
  };
  const std::string narrow = planned("float16", {"--why"});
  EXPECT_NE(narrow.find(" Conv cpu_0/conv1 runs as 'im2col in float32'. "
                        "Winograd: takes float32, not float16; "
                        "im2col: takes float32, not float16; "
                        "AMX: takes bfloat16, not float16; "
                        "AMX, windows: takes bfloat16, not float16; "
                        "oneDNN: takes float32 or bfloat16, not float16; Winograd in float32: "),
            std::string::npos)
      << narrow;
  const std::string without = planned("float16", {});
  EXPECT_EQ(without.find("why"), std::string::npos);
  EXPECT_EQ(narrow.substr(0, without.size()), without) << "reasons follow the plan";
  // LeNet's channels do not fill blocks, so its plan has the second candidate of each bias's
  // gradient, and some convolutions use im2col. Its windows are too large for Winograd's method.
  std::istringstream wide(planned("float32", {"--why"}));
  int reasons = 0;
  for (std::string line; std::getline(wide, line);) {
    if (line.rfind("why ", 0) != 0) continue;
    if (line.find(" runs as 'oneDNN'. Winograd: ") != std::string::npos ||
        line.find(" runs as 'im2col'. Winograd: ") != std::string::npos) {
      EXPECT_NE(line.find(" Conv"), std::string::npos) << line;
      continue;
    }
    ++reasons;
    EXPECT_NE(line.find(" ReduceSum "), std::string::npos) << line;
    EXPECT_NE(line.find("_b_grad runs as 'CPU'. channel blocks: takes channel blocks"),
              std::string::npos)
        << line;
  }
  EXPECT_EQ(reasons, 4);
}

// Replaces bytes of a good file by the same number of other bytes.
TEST_F(PlanCommand, BrokenModelsAreRefusedByName) {
  std::string step = folder / "step.onnx", bad = folder / "bad.onnx";
  ASSERT_EQ(run_lockstep({"build", "mlp", "--devices", "cpu*2", "-o", step}).exit_code, 0);
  auto exchanged = [&](const std::string& from, const std::string& to, bool once) {
    std::string text = read_file(step);
    for (std::size_t at = text.find(from); at != text.npos; at = text.find(from, at + 1)) {
      text.replace(at, from.size(), to);
      if (once) break;
    }
    write_file(bad, text);
    return run_lockstep({"inspect", bad});
  };
  expect_refused(exchanged("Gemm", "Gemx", false), {"bad.onnx", "does not have", "Gemx (", "fc1"});
  expect_refused(exchanged("transB", "transX", true), {"bad.onnx", "fc1 (Gemm", "transX"});
  expect_refused(exchanged("relu1", "relu9", true), {"bad.onnx"});
}

}  // namespace
}  // namespace lockstep::testing
