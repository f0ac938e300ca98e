// SPDX-License-Identifier: Apache-2.0
#include "app/config/nested.h"

#include <gtest/gtest.h>

#include "app/config/key.h"
#include "app/config/read.h"
#include "tests/support/expect_error.h"

namespace lockstep::testing {
namespace {

TEST(Nested, ReadsTextsListsAndSections) {
  const Nested value = parse_nested("{mse: [out, 'a: b'], rest: {weight: 0.5, of: x}}");
  ASSERT_EQ(value.fields.size(), 2U);
  EXPECT_EQ(value.fields[0].name, "mse");
  EXPECT_EQ(value.fields[0].value.list.at(1).text, "a: b");
  EXPECT_EQ(value.fields[1].value.fields.at(0).value.number("weight"), 0.5);
  EXPECT_EQ(parse_nested("loss").text, "loss");
}

TEST(Nested, IsWrittenAsTextThatReadsBack) {
  for (const char* text :
       {"loss", "[a, b]", "{mse: [out, 'a: b']}", "{a: {b: [c, {d: 'it''s'}]}}", "{}", "[]"}) {
    EXPECT_EQ(text_of(parse_nested(text)), text);
    EXPECT_EQ(text_of(parse_nested(text_of(parse_nested(text)))), text);
  }
}

TEST(Nested, RefusesOtherText) {
  expect_error([] { parse_nested("{a: [b}"); }, "{a: [b}");
  expect_error([] { parse_nested("{a: 1, a: 2}"); }, "'a' is set twice");
  expect_error([] { parse_nested("&x [*x]"); }, "nested too deeply");
  expect_error([] { parse_nested("[[[[[[[[[[a]]]]]]]]]]"); }, "nested too deeply");
  expect_error([] { parse_nested("x").number("the weight"); }, "the weight should be a number",
               "'x'");
  expect_error([] { parse_nested("nan").number("the weight"); }, "the weight should be a number");
  expect_error([] { parse_nested("[1]").integer("ignore"); }, "ignore should be an integer", "[1]");
}

// A nested key takes sections, lists and texts, in a file and on the command line.
TEST(Nested, IsAKeysValue) {
  std::string loss;
  int other = 0;
  ConfigKeys keys{{"MODEL.LOSS", &loss, "loss", {.nested = true}},
                  {"MODEL.OTHER", &other, "other"}};
  read_yaml(keys, "MODEL:\n  LOSS: {mse: [out, y], b: {of: z}}\n  OTHER: 3\n", "c.yaml");
  EXPECT_EQ(loss, "{mse: [out, y], b: {of: z}}");
  EXPECT_EQ(other, 3);
  const std::string written = yaml_of(keys);
  loss.clear();
  read_yaml(keys, written, "written.yaml");
  EXPECT_EQ(loss, "{mse: [out, y], b: {of: z}}");
  read_yaml(keys, "MODEL.LOSS: [a, b]\n", "c.yaml");
  EXPECT_EQ(loss, "[a, b]");
  read_words(keys, {"MODEL.LOSS", "{l1: [out, y]}"});
  EXPECT_EQ(text_of(parse_nested(loss)), "{l1: [out, y]}");
  expect_error([&] { read_yaml(keys, "MODEL: {OTHER: {a: 1}}\n", "c.yaml"); }, "c.yaml:1",
               "MODEL.OTHER.a");
}

}  // namespace
}  // namespace lockstep::testing
