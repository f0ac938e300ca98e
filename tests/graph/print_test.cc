// SPDX-License-Identifier: Apache-2.0
// The output of `lockstep inspect` about a model.
#include "graph/print.h"
#include "graph/summary.h"

#include <gtest/gtest.h>

#include "graph/printable.h"
#include "lockstep/operators.h"
#include "tests/support/expect_error.h"

namespace lockstep::testing {
namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

TEST(Summary, ColumnsDoNotCollide) {
  const std::string name = "backbone.stage_4.block_2.projection.convolution.weight";
  TrainingModel model(all_ops());
  const Value w = model.step.input(name, {DType::float32, {3, 5}});
  model.step.input("b", {DType::float32, {5}});
  model.step.output(add(model.step, w, w, name + "_doubled"));
  model.states = {{{name, {name}}, StateKind::weight}, {{"b", {"b"}}, StateKind::slot}};
  model.metrics = {{name + "_doubled", {name + "_doubled"}}};
  const std::string text = summary_of(model);
  EXPECT_TRUE(has(text, "  weight   " + name + "  float32[3,5]\n")) << text;
  EXPECT_TRUE(has(text, "  slot     b" + std::string(name.size() + 1, ' ') + "float32[5]\n"))
      << text;
  EXPECT_TRUE(has(text, "metric   " + name + "_doubled  float32[3,5]  x1\n")) << text;
  EXPECT_TRUE(has(text, "parameters 1 (15 values per replica)\n")) << text;
}

TEST(Summary, CountsTheParametersOfANetworkOfOtherTools) {
  TrainingModel model(all_ops());
  Graph& graph = model.inference;
  const Value x = graph.input("x", {DType::float32, {"N", 5}});
  const Value w = graph.constant("w", Literal::of<float>(std::vector<float>(5, 0.5F), {5}));
  const Value half = graph.constant("half", Literal::of<float>(std::vector<float>{0.5F}, {}));
  graph.constant("shape", Literal::vector({2, 3}));
  graph.output(mul(graph, add(graph, x, w, "sum"), half, "y"));
  const std::string text = summary_of(model);
  EXPECT_TRUE(has(text, "parameters 1 (5 values per replica)\n")) << text;
  EXPECT_TRUE(has(text, "  constant w ")) << text;
  EXPECT_FALSE(has(text, "  constant half")) << text;
}

TEST(Printable, ShowsWhatIsThere) {
  EXPECT_EQ(printable("conv1/größe 重み"), "conv1/größe 重み");
  EXPECT_EQ(printable("a\x1b[2J\r\n\t\x7f" + std::string(1, '\0')), "a\\x1b[2J\\r\\n\\t\\x7f\\x00");
  EXPECT_EQ(printable("\xc2\x9b"
                      "2J"),
            "\\xc2\\x9b2J");  // an escape code in one character
  EXPECT_EQ(printable("\xe2\x80\xae"
                      "txt"),
            "\\xe2\\x80\\xaetxt");                 // a right-to-left override
  EXPECT_EQ(printable("\xff\xc3"), "\\xff\\xc3");  // invalid UTF-8
  EXPECT_EQ(printable("\xc0\x9b"), "\\xc0\\x9b");  // an overlong encoding
  EXPECT_EQ(printable_lines("a\nb\x1b"), "a\nb\\x1b");
  EXPECT_EQ(in_quotes("say \"\\n\"\n"), "\"say \\\"\\\\n\\\"\\n\"");
}

TEST(ControlCharacters, AreRefusedByNameWithTheRemedy) {
  refuse_control("größe 重み/a b.png \xff\x9b", "here");
  refuse_control("a\tb\nc", "here", "\t\n");
  expect_error([] { refuse_control(std::string("a\0b", 3), "here"); },
               "here: \"a\\x00b\" contains the control character \\x00, which is not allowed here; "
               "remove it");
  expect_error([] { refuse_control("a\tb\nc", "here", "\t"); }, "the control character \\n,");
  expect_error([] { refuse_control("a\xc2\x9bJ", "here"); }, "the control character \\xc2\\x9b,");
}

}  // namespace
}  // namespace lockstep::testing
