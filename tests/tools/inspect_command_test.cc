// SPDX-License-Identifier: Apache-2.0
// `lockstep inspect`: its page, its options, and files that should not be believed.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "graph/file.h"
#include "graph/printable.h"
#include "tests/support/occurrences.h"
#include "tests/support/training_command.h"

namespace lockstep::testing {
namespace {

using InspectCommand = TrainingCommand;

void expect_in_order(const std::string& text, const std::vector<std::string>& parts) {
  std::size_t at = 0;
  for (const std::string& part : parts) {
    const std::size_t found = text.find(part, at);
    ASSERT_NE(found, text.npos) << part << " in " << text;
    at = found + part.size();
  }
}

// The figures of torchvision's documentation: 25.56 M parameters, 4.089 G multiply-adds.
TEST_F(InspectCommand, FiguresComeFirst) {
  const Outcome one = run_lockstep({"inspect", "resnet50", "--batch", "1"});
  ASSERT_EQ(one.exit_code, 0) << one.err;
  expect_in_order(one.out, {"one replica, 1 example\n",
                            "parameters   25.56 M, 97.5 MiB; all states 195 MiB\n",
                            "forward      8.2",
                            " GFLOP, of which 8.178 GFLOP in products\n",
                            "backward     16.",
                            "activations ",
                            "that the backward pass reads\n",
                            "reduced      0 bytes in 0 messages\n",
                            "peak memory ",
                            "arenas ",
                            "states ",
                            "memory       of a plan for cpu:0: ",
                            "operators of the step graph",
                            "ConvGrad",
                            "nodes with the most arithmetic\n",
                            "  .. and ",
                            "other nodes",
                            "  weight   ",
                            "  .. and ",
                            " smaller: --all lists them\n",
                            "input "});
  EXPECT_LT(occurrences(one.out, "\n"), 110) << "a page";
  const Outcome all = run_lockstep({"inspect", "resnet50", "--batch", "1", "--all"});
  EXPECT_EQ(all.out.find("--all lists"), all.out.npos);
  EXPECT_GT(occurrences(all.out, "\n"), 1000);
}

TEST_F(InspectCommand, ReplicasAndMessagesAreCounted) {
  const Outcome eight = run_lockstep({"inspect", "lenet", "--devices", "cpu*8", "--batch", "4"});
  ASSERT_EQ(eight.exit_code, 0) << eight.err;
  expect_in_order(eight.out,
                  {"each of 8 replicas, 4 examples\n", "reduced      1.64 MiB in 8 messages",
                   "memory       of a plan for 8 devices, cpu:0 first: "});
  const Outcome packed =
      run_lockstep({"inspect", "lenet", "--devices", "cpu*8", "--packing", "ready:1k:1M"});
  EXPECT_NE(packed.out.find("reduced      1.64 MiB in 3 messages"), packed.out.npos) << packed.out;
  const std::string step = folder / "step.onnx";
  ASSERT_EQ(run_lockstep({"build", "lenet", "--devices", "cpu*8", "-o", step}).exit_code, 0);
  const Outcome file = run_lockstep({"inspect", step, "--batch", "4"});
  EXPECT_EQ(file.out.substr(0, file.out.find("operators of")),
            eight.out.substr(0, eight.out.find("operators of")));
}

TEST_F(InspectCommand, OptionsBelongToFormats) {
  expect_refused(run_lockstep({"inspect", "mlp", "--all", "--format", "text"}),
                 {"--all is only for --format summary, not text"});
  expect_refused(run_lockstep({"inspect", "mlp", "--depth", "1"}),
                 {"--depth is only for --format dot, not summary"});
  expect_refused(run_lockstep({"plan", "mlp", "--why", "--format", "json"}),
                 {"--why is only for --format text"});
  EXPECT_EQ(run_lockstep({"inspect", "mlp", "--batch", "0"}).exit_code, 2);
  EXPECT_EQ(run_lockstep({"inspect", "mlp", "--depth", "-1", "--format", "dot"}).exit_code, 2);
  const Outcome folded = run_lockstep(
      {"inspect", "resnet18", "--devices", "cpu*2", "--format", "dot", "--depth", "1"});
  EXPECT_NE(folded.out.find("[label=\"cpu_0\\n"), folded.out.npos);
  const Outcome whole =
      run_lockstep({"inspect", "resnet18", "--devices", "cpu*2", "--format", "dot"});
  EXPECT_LT(folded.out.size(), whole.out.size() / 2);
}

TEST_F(InspectCommand, DocumentsAreForPrograms) {
  const Outcome graph = run_lockstep({"inspect", "mlp", "--format", "json"});
  ASSERT_EQ(graph.exit_code, 0) << graph.err;
  EXPECT_EQ(nlohmann::json::parse(graph.out)["schema"], "lockstep.graph/1");
  const Outcome plan = run_lockstep({"plan", "mlp", "--format", "json"});
  ASSERT_EQ(plan.exit_code, 0) << plan.err;
  EXPECT_EQ(nlohmann::json::parse(plan.out)["schema"], "lockstep.plan/1");
}

}  // namespace
}  // namespace lockstep::testing
