// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <algorithm>

#include "graph/gradient.h"
#include "lockstep/operators.h"
#include "tests/support/case_run.h"

namespace lockstep::testing {
namespace {

// The same numbers in another shape.
Reference as(const Dims& dims) {
  return [dims](const std::vector<Doubles>& in) {
    return std::vector<Doubles>{{dims, in[0].values}};
  };
}

CaseInput int32_constants(const std::vector<int32_t>& values) {
  const Dims dims{static_cast<int64_t>(values.size())};
  return {Literal::of<int32_t>(values, dims), false, true, false};
}

std::vector<OpCase> shape_cases() {
  Reference transposed = [](const std::vector<Doubles>& in) {
    Doubles y{{4, 3}, std::vector<double>(12)};
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 4; ++j) y[j * 3 + i] = in[0][i * 4 + j];
    return std::vector<Doubles>{y};
  };
  Reference middle = [](const std::vector<Doubles>& in) {  // rows 1..3 of 5, columns 0, 2 of 4
    Doubles y{{2, 2}, {}};
    for (int i : {1, 2})
      for (int j : {0, 2}) y.values.push_back(in[0][i * 4 + j]);
    return std::vector<Doubles>{y};
  };
  Reference backwards = [](const std::vector<Doubles>& in) {
    return std::vector<Doubles>{{{3}, {in[0][4], in[0][2], in[0][0]}}};
  };
  Reference side_by_side = [](const std::vector<Doubles>& in) {
    Doubles y{{2, 5}, {}};
    for (int i = 0; i < 2; ++i) {
      for (int j = 0; j < 2; ++j) y.values.push_back(in[0][i * 2 + j]);
      for (int j = 0; j < 3; ++j) y.values.push_back(in[1][i * 3 + j]);
    }
    return std::vector<Doubles>{y};
  };
  Reference repeated = [](const std::vector<Doubles>& in) {
    Doubles y{{2, 3, 2}, {}};
    for (int i = 0; i < 2; ++i)
      for (int j = 0; j < 3; ++j)
        for (int k = 0; k < 2; ++k) y.values.push_back(in[0][j]);
    return std::vector<Doubles>{y};
  };
  // y[c, 2i + a, 2j + b] = x[c, a, b, i, j] of [1, 2 * 2 * 2, 2, 3].
  Reference shuffled = [](const std::vector<Doubles>& in) {
    Doubles y{{1, 2, 4, 6}, {}};
    for (int c = 0; c < 2; ++c)
      for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 6; ++j)
          y.values.push_back(in[0][((c * 4 + i % 2 * 2 + j % 2) * 2 + i / 2) * 3 + j / 2]);
    return std::vector<Doubles>{y};
  };
  return {
      {.name = "plain", .type = "Identity", .inputs = {random({2, 3})}, .reference = as({2, 3})},
      {.name = "plain",
       .type = "Reshape",
       .inputs = {random({2, 6}), fixed({3, 4})},
       .reference = as({3, 4})},
      {.name = "rest",
       .type = "Reshape",
       .inputs = {random({2, 6}), fixed({0, 2, -1})},
       .reference = as({2, 2, 3})},
      {.name = "batch",
       .type = "Reshape",
       .inputs = {random({2, 6}), fixed({0, 2, 3})},
       .reference = as({2, 2, 3}),
       .symbolic_batch = true},
      {.name = "batch_rest",
       .type = "Reshape",
       .inputs = {random({2, 6}), fixed({0, -1, 3})},
       .reference = as({2, 2, 3}),
       .symbolic_batch = true},
      {.name = "axis1", .type = "Flatten", .inputs = {random({2, 3, 2})}, .reference = as({2, 6})},
      {.name = "batch",
       .type = "Flatten",
       .inputs = {random({2, 3, 2})},
       .reference = as({2, 6}),
       .symbolic_batch = true},
      {.name = "axis0",
       .type = "Flatten",
       .attributes = {{"axis", int64_t{0}}},
       .inputs = {random({2, 3})},
       .reference = as({1, 6})},
      {.name = "axes",
       .type = "Squeeze",
       .inputs = {random({2, 1, 3, 1}), fixed({1, 3})},
       .reference = as({2, 3})},
      {.name = "all", .type = "Squeeze", .inputs = {random({1, 3, 1})}, .reference = as({3})},
      {.name = "axes",
       .type = "Unsqueeze",
       .inputs = {random({2, 3}), fixed({0, 3})},
       .reference = as({1, 2, 3, 1})},
      {.name = "default", .type = "Transpose", .inputs = {random({3, 4})}, .reference = transposed},
      {.name = "perm",
       .type = "Transpose",
       .attributes = {{"perm", std::vector<int64_t>{2, 0, 1}}},
       .inputs = {random({2, 3, 4})}},
      {.name = "batch",
       .type = "Transpose",
       .attributes = {{"perm", std::vector<int64_t>{0, 2, 1}}},
       .inputs = {random({2, 3, 4})},
       .symbolic_batch = true},
      {.name = "columns",
       .type = "Concat",
       .attributes = {{"axis", int64_t{1}}},
       .inputs = {random({2, 2}), random({2, 3}, 2)},
       .reference = side_by_side},
      {.name = "negative_axis",
       .type = "Concat",
       .attributes = {{"axis", int64_t{-1}}},
       .inputs = {random({2, 2}), random({2, 3}, 2)},
       .reference = side_by_side,
       .symbolic_batch = true},
      {.name = "rows",
       .type = "Concat",
       .attributes = {{"axis", int64_t{0}}},
       .inputs = {random({1, 2}), random({2, 2}, 2), random({1, 2}, 3)}},
      {.name = "steps",
       .type = "Slice",
       .inputs = {random({5, 4}), fixed({1, 0}), fixed({3, 4}), fixed({0, 1}), fixed({1, 2})},
       .reference = middle},
      {.name = "int32",
       .type = "Slice",
       .inputs = {random({5, 4}), int32_constants({1, 0}), int32_constants({3, 4}),
                  int32_constants({0, 1}), int32_constants({1, 2})},
       .reference = middle},
      {.name = "backwards",
       .type = "Slice",
       .inputs = {random({5}), fixed({-1}), fixed({-100}), fixed({0}), fixed({-2})},
       .reference = backwards},
      {.name = "defaults", .type = "Slice", .inputs = {random({5, 4}), fixed({1}), fixed({1000})}},
      {.name = "batch",
       .type = "Slice",
       .inputs = {random({2, 4}), fixed({1}), fixed({3}), fixed({1})},
       .symbolic_batch = true},
      {.name = "dcr",
       .type = "DepthToSpace",
       .attributes = {{"blocksize", int64_t{2}}},
       .inputs = {random({1, 8, 2, 3})}},
      {.name = "crd",
       .type = "DepthToSpace",
       .attributes = {{"blocksize", int64_t{2}}, {"mode", "CRD"}},
       .inputs = {random({1, 8, 2, 3})},
       .reference = shuffled},
      {.name = "crd_batch",
       .type = "DepthToSpace",
       .attributes = {{"blocksize", int64_t{3}}, {"mode", "CRD"}},
       .inputs = {random({2, 18, 1, 2})},
       .symbolic_batch = true},
      {.name = "block2",
       .type = "SpaceToDepth",
       .attributes = {{"blocksize", int64_t{2}}},
       .inputs = {random({2, 2, 4, 6})}},
      {.name = "equal",
       .type = "Split",
       .attributes = {{"axis", int64_t{1}}},
       .inputs = {random({2, 6})},
       .outputs = 3},
      {.name = "sizes", .type = "Split", .inputs = {random({5, 2}), fixed({1, 4})}, .outputs = 2},
      {.name = "batch",
       .type = "Split",
       .attributes = {{"axis", int64_t{-1}}},
       .inputs = {random({2, 5}), fixed({2, 3})},
       .outputs = 2,
       .symbolic_batch = true},
      {.name = "both", .type = "Tile", .inputs = {random({2, 3}), fixed({2, 3})}},
      {.name = "open_batch_of_one_axis",
       .type = "Tile",
       .inputs = {random({4, 3}), fixed({1, 2})},
       .symbolic_batch = true},
      {.name = "open_batch_repeated",
       .type = "Tile",
       .inputs = {random({2, 3, 2}), fixed({3, 1, 2})},
       .symbolic_batch = true},
      {.name = "open_batch_once",
       .type = "Tile",
       .inputs = {random({4, 3}), fixed({1, 1})},
       .reference = as({4, 3}),
       .symbolic_batch = true},
      {.name = "none", .type = "Tile", .inputs = {random({3, 4}), fixed({2, 0})}},
      {.name = "once",
       .type = "Tile",
       .inputs = {random({2, 3}), fixed({1, 1})},
       .reference = as({2, 3})},
      {.name = "both",
       .type = "Expand",
       .inputs = {random({3, 1}), fixed({2, 3, 2})},
       .reference = repeated},
      {.name = "keeps",
       .type = "Expand",
       .inputs = {random({2, 3}), fixed({1, 1})},
       .reference = as({2, 3})},
  };
}

class Shapes : public ::testing::TestWithParam<OpCase> {};
TEST_P(Shapes, Case) { check_case(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Table, Shapes, ::testing::ValuesIn(shape_cases()));

// A parameter repeated along the batch, for any batch size: y = tile(token) * x, so the token's
// gradient is the sum of x over the batch.
TEST(Tile, AnOpenNumberOfRepeatsIsSummedOver) {
  Graph graph(all_ops(), "open");
  const Value x = graph.input("x", {DType::float32, {"N", 3}});
  const Value token = graph.input("token", {DType::float32, {1, 3}});
  const Value batch = slice(graph, shape_of(graph, x, {}), 0, 0, 1, "batch");
  const Value once = graph.constant("once", Literal::vector(std::vector<int64_t>{1}));
  const Value repeats = concat(graph, {batch, once}, 0, "repeats");
  const Value tiled = graph.add_value({.type = "Tile", .inputs = {token, repeats}}, "tiled");
  EXPECT_EQ(graph.shape(tiled), (Shape{"N", 3}));
  const Value loss = reduce_sum(graph, mul(graph, tiled, x, "y"), {}, false, "loss");
  const Value gradient = add_gradients(graph, {Loss{loss}}, {token}).values[0];
  EXPECT_EQ(graph.shape(gradient), (Shape{1, 3}));
  for (int64_t n : {1, 2, 5}) {
    OpCase c{.name = "open", .type = "Tile", .inputs = {random({n, 3}), random({1, 3}, 2)}};
    const std::vector<Literal> values = fed_values(c);
    const auto found =
        CaseRunner(graph, c, {"x", "token"}, {graph.name(gradient)}, guarded()).run(values);
    Doubles sums{{1, 3}, {0, 0, 0}};
    const Doubles fed = to_doubles(values[0]);
    for (int64_t i = 0; i < 3 * n; ++i) sums[i % 3] += fed[i];
    expect_near(sums, found[0], std::max(1e-5, device_tolerance()), join("batch of ", n));
  }
}

}  // namespace
}  // namespace lockstep::testing
