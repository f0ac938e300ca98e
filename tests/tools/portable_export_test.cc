// SPDX-License-Identifier: Apache-2.0
// `lockstep export --portable`.
#include <gtest/gtest.h>

#include <filesystem>

#include "lockstep/model_files.h"
#include "lockstep/operators.h"
#include "tests/support/program.h"
#include "tests/support/temporary_folder.h"

namespace lockstep::testing {
namespace {

TEST(PortableExport, WritesBodiesAndRefusesByNameWhatHasNone) {
  TemporaryFolder folder;
  const auto exported = [&](const std::string& type) {
    Graph graph(all_ops());
    const Value x = graph.input("x", {DType::float32, {2}});
    std::vector<Value> operands{x};
    if (type == "ReluGrad") operands.push_back(x);
    graph.output(graph.add_value({.type = type, .domain = kOwnDomain, .inputs = operands}, "node"));
    TrainingModel model(all_ops());
    model.inference = std::move(graph);
    save_model(model, folder / "ours.onnx");
    return run_lockstep({"export", folder / "ours.onnx", "--portable", "-o", folder / "out.onnx"});
  };
  const Outcome refused = exported("ReluGrad");
  EXPECT_EQ(2, refused.exit_code);
  EXPECT_NE(std::string::npos, refused.err.find("ours.onnx")) << refused.err;
  EXPECT_NE(std::string::npos, refused.err.find("node (ReluGrad")) << refused.err;
  EXPECT_NE(std::string::npos, refused.err.find(kOnlyTrains)) << refused.err;
  EXPECT_FALSE(std::filesystem::exists(folder / "out.onnx"));
  EXPECT_EQ(0, exported("StopGradient").exit_code);
  const Graph written = load_model(all_ops(), folder / "out.onnx").model.inference;
  EXPECT_EQ("Identity", written.node(0).type());

  ASSERT_EQ(0, run_lockstep({"build", "lenet", "-o", folder / "step.onnx"}).exit_code);
  const Outcome empty = run_lockstep({"export", folder / "step.onnx", "--portable"});
  EXPECT_EQ(2, empty.exit_code);
  EXPECT_NE(std::string::npos, empty.err.find("contains only the shapes of its parameters"))
      << empty.err;
}

}  // namespace
}  // namespace lockstep::testing
