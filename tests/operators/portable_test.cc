// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "graph/file.h"
#include "graph/local_functions.h"
#include "graph/passes/portable.h"
#include "graph/print.h"
#include "lockstep/model_files.h"
#include "lockstep/operators.h"
#include "operators/boxes/boxes.h"
#include "tests/support/expect_error.h"
#include "tests/support/temporary_folder.h"

namespace lockstep::testing {
namespace {

// Names, positions and types are unchanged, so users of the graph see no difference.
TEST(Portable, KeepsNamesAndTypes) {
  Graph graph(all_ops());
  const Value boxes = graph.input("boxes", {DType::float32, {1, 5, 4}});
  const Value scores = graph.input("scores", {DType::float32, {1, 5}});
  const SuppressedBoxes kept = box_suppression(graph, boxes, scores, {.capacity = 3}, "kept");
  graph.output(identity(graph, kept.indices, "picked"));
  graph.output(kept.count);
  const std::string where = graph.producer(kept.count)->where();

  const Graph portable = in_standard_operators(graph);
  for (int i = 0; i < portable.node_count(); ++i) EXPECT_EQ("", portable.node(i).domain());
  ASSERT_EQ(2U, portable.outputs().size());
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(graph.name(graph.outputs()[i]), portable.name(portable.outputs()[i]));
    EXPECT_EQ(graph.type(graph.outputs()[i]), portable.type(portable.outputs()[i]));
  }
  EXPECT_EQ(where, portable.producer(portable.at("kept"))->where());
}

// Other engines run a node by the function of its name; Lockstep runs its own operator.
TEST(Portable, WritesBodiesOfOpenSizesAsFunctionsOfTheFile) {
  TrainingModel model(all_ops());
  Graph& graph = model.inference;
  const Value boxes = graph.input("boxes", {DType::float32, {1, "N", 4}});
  const Value scores = graph.input("scores", {DType::float32, {1, "N"}});
  for (const int64_t capacity : {3, 5, 3})
    graph.output(
        box_suppression(graph, boxes, scores, {.capacity = capacity}, join("kept_of_", capacity))
            .indices);
  graph.output(graph.add_value({.type = "StopGradient", .domain = kOwnDomain, .inputs = {scores}},
                               "stopped"));
  model.inference = in_standard_operators(graph, OpenBodies::remain);
  EXPECT_EQ("Identity", model.inference.producer(model.inference.at("stopped"))->type());
  model.metadata[kPortable] = "true";
  const TemporaryFolder folder;
  save_model(model, folder / "portable.onnx");
  const std::string file = read_file(folder / "portable.onnx");
  EXPECT_NE(std::string::npos, file.find("NonMaxSuppression"));
  EXPECT_NE(std::string::npos, file.find("BoxSuppression_2"));
  EXPECT_EQ(std::string::npos, file.find("BoxSuppression_3")) << "equal bodies are one function";
  const Graph loaded = load_model(all_ops(), folder / "portable.onnx").model.inference;
  EXPECT_EQ(text_of(loaded), text_of(model.inference));
}

TEST(Portable, NamesEveryNodeThatHasNoBody) {
  Graph graph(all_ops());
  const Value x = graph.input("x", {DType::float32, {2}});
  for (const char* name : {"first", "second"})
    graph.output(
        graph.add_value({.type = "ReluGrad", .domain = kOwnDomain, .inputs = {x, x}}, name));
  expect_error([&] { in_standard_operators(graph); }, "first (ReluGrad", "second (ReluGrad",
               kOnlyTrains);
}

TEST(Portable, NamesANodeWhoseBodyDoesNotFit) {
  Graph graph(all_ops());
  const Value boxes = graph.input("boxes", {DType::float32, {"N", 5, 4}});
  const Value scores = graph.input("scores", {DType::float32, {"N", 5}});
  graph.output(box_suppression(graph, boxes, scores, {}, "kept").indices);
  expect_error([&] { in_standard_operators(graph); }, "kept (BoxSuppression",
               "'boxes' has shape [N,5,4]", "must be known");
}

TEST(OpSet, AsksForABodyOrAReason) {
  Op op{.type = "Bare", .domain = kOwnDomain, .signature = Signature{"", {{"x"}}, {{"y"}}}};
  expect_error([&] { OpSet set({op}); }, "operator Bare", "needs either a body or no_body");
  expect_error([&] { OpSet set({{.type = "Relu", .domain = "", .no_body = "none needed"}}); },
               "operator Relu", "an ONNX operator neither");
}

}  // namespace
}  // namespace lockstep::testing
