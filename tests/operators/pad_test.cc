// SPDX-License-Identifier: Apache-2.0
// Pad in all modes. ONNX Runtime computes the same cases, except those with negative pads or with
// more padding than it accepts.
#include <gtest/gtest.h>

#include "tests/support/any_threads.h"
#include "tests/support/expect_error.h"
#include "tests/support/op_case.h"

namespace lockstep::testing {
namespace {

// y[i] = x[source(i)] along one dimension; -1 is a zero.
Reference taken(const std::vector<int64_t>& sources) {
  return [sources](const std::vector<Doubles>& in) {
    Doubles y{{static_cast<int64_t>(sources.size())}, {}};
    for (int64_t source : sources) y.values.push_back(source < 0 ? 0 : in[0][source]);
    return std::vector<Doubles>{y};
  };
}

OpCase padded(const std::string& name, const std::string& mode, const Dims& x,
              const std::vector<int64_t>& pads, Reference reference = nullptr) {
  return {.name = name,
          .type = "Pad",
          .attributes = {{"mode", mode}},
          .inputs = {random(x), fixed(pads)},
          .reference = std::move(reference)};
}

OpCase ours_only(OpCase c) {
  c.oracle = false;
  return c;
}

OpCase open_batch(OpCase c) {
  c.symbolic_batch = true;
  return c;
}

std::vector<OpCase> pad_cases() {
  const std::vector<int64_t> images{0, 0, 1, 1, 0, 0, 1, 2};
  OpCase learned = padded("learned_value", "constant", {2, 3}, {0, 1, 1, -1});
  learned.inputs.push_back(random({}, 2));
  learned.oracle = false;
  return {
      {.name = "zeros", .type = "Pad", .inputs = {random({2, 3}), fixed({1, 0, 0, 2})}},
      {.name = "value",
       .type = "Pad",
       .inputs = {random({2, 3}),
                  fixed({0, 1, 1, 1}),
                  {Literal::scalar(7.0F), false, true, false}}},
      {.name = "images", .type = "Pad", .inputs = {random({1, 2, 3, 3}), fixed(images)}},
      learned,
      ours_only(padded("cut", "constant", {6}, {-1, 2}, taken({1, 2, 3, 4, 5, -1, -1}))),
      padded("edge", "edge", {2, 3}, {1, 2, 1, 0}),
      padded("edge_of_a_row", "edge", {3}, {2, 1}, taken({0, 0, 0, 1, 2, 2})),
      padded("edge_of_one", "edge", {1}, {2, 1}, taken({0, 0, 0, 0})),
      padded("edge_images", "edge", {2, 2, 3, 4}, {0, 0, 2, 1, 0, 0, 1, 3}),
      open_batch(padded("edge_batch", "edge", {2, 2, 3, 2}, images)),
      ours_only(padded("edge_cut", "edge", {4}, {-2, 3}, taken({2, 3, 3, 3, 3}))),
      padded("edge_without_pads", "edge", {2, 3}, {0, 0, 0, 0}),
      ours_only(padded("edge_of_a_number", "edge", {}, {})),
      padded("reflect", "reflect", {3, 4}, {1, 2, 1, 1}),
      padded("reflect_a_row", "reflect", {4}, {3, 2}, taken({3, 2, 1, 0, 1, 2, 3, 2, 1})),
      padded("reflect_volumes", "reflect", {1, 2, 3, 2, 4}, {0, 0, 2, 1, 3, 0, 0, 1, 0, 2}),
      open_batch(padded("reflect_batch", "reflect", {2, 2, 3, 4}, images)),
      ours_only(padded("reflect_often", "reflect", {3}, {5, 4},
                       taken({1, 0, 1, 2, 1, 0, 1, 2, 1, 0, 1, 2}))),
      ours_only(padded("reflect_one", "reflect", {1}, {2, 1}, taken({0, 0, 0, 0}))),
      ours_only(padded("reflect_cut", "reflect", {5}, {2, -2}, taken({2, 1, 0, 1, 2}))),
      ours_only(padded("reflect_and_cut_rows", "reflect", {2, 5}, {1, -1, 0, 2})),
      ours_only(padded("nothing_of_nothing", "edge", {2, 0}, {1, 0, 0, 0})),
  };
}

class Pads : public ::testing::TestWithParam<OpCase> {};
TEST_P(Pads, Case) { check_case(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Table, Pads, ::testing::ValuesIn(pad_cases()));

TEST(Pad, ThreadsDoNotChangeABit) {
  const CaseInput pads = fixed({0, 0, 3, 2, 0, 0, 1, 4});
  for (const char* mode : {"constant", "edge", "reflect"}) {
    expect_same_bits_on_any_threads(padded("y", mode, {2, 8, 40, 50}, pads.value.integers()));
    expect_same_bits_on_any_threads(
        {.name = "dx",
         .type = "PadGrad",
         .domain = kOwnDomain,
         .attributes = {{"mode", mode}},
         .inputs = {random({2, 8, 44, 56}), fixed({2, 8, 40, 50}), pads}});
  }
}

TEST(PadErrors, PaddingWithoutASourceIsNamed) {
  expect_error(
      [&] {
        check_case(padded("empty", "reflect", {0, 3}, {1, 0, 0, 0}));
      },
      "Pad", "dimension 0 has size 0: there is nothing to copy into its padding");
  expect_error(
      [&] {
        check_case(padded("empty", "edge", {2}, {-3, 0}));
      },
      "Pad", "pads dimension 0 of size 2 by -3 and 0: nothing is left");
  expect_error(
      [&] {
        check_case(padded("mode", "mirror", {2}, {1, 0}));
      },
      "Pad", "mode is 'mirror', should be constant, reflect or edge");
}

}  // namespace
}  // namespace lockstep::testing
