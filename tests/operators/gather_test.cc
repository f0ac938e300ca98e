// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/support/expect_error.h"
#include "tests/support/op_case.h"

namespace lockstep::testing {
namespace {

// Picks rows or columns of a matrix.
Reference picked(bool rows) {
  return [rows](const std::vector<Doubles>& in) {
    const Doubles &x = in[0], &index = in[1];
    int64_t n = x.dims[0], m = x.dims[1], count = static_cast<int64_t>(index.values.size());
    Doubles y{rows ? Dims{count, m} : Dims{n, count}, {}};
    for (int64_t i = 0; i < y.dims[0]; ++i)
      for (int64_t j = 0; j < y.dims[1]; ++j) {
        int64_t at = static_cast<int64_t>(index[rows ? i : j]);
        if (at < 0) at += rows ? n : m;
        y.values.push_back(rows ? x[at * m + j] : x[i * m + at]);
      }
    return std::vector<Doubles>{y};
  };
}

// y[i][j] = x[index[i][j]][j]
std::vector<Doubles> element_wise(const std::vector<Doubles>& in) {
  Doubles y{in[1].dims, {}};
  for (std::size_t i = 0; i < in[1].values.size(); ++i)
    y.values.push_back(in[0][static_cast<int64_t>(in[1][i]) * 3 + static_cast<int64_t>(i % 3)]);
  return {y};
}

CaseInput int32_places(std::vector<int32_t> values, const Dims& dims) {
  return given(Literal::of<int32_t>(values, dims));
}

std::vector<OpCase> gather_cases() {
  auto axis = [](int64_t a) { return Attributes{{"axis", a}}; };
  Literal on_off = Literal::of<float>(std::vector<float>{0, 1}, {2});
  return {
      {.name = "rows",
       .type = "Gather",
       .inputs = {random({4, 3}), labels({2, 0, 2, -1}, {4})},
       .reference = picked(true)},
      {.name = "int32",
       .type = "Gather",
       .inputs = {random({4, 3}), int32_places({2, 0, 2, -1}, {4})},
       .reference = picked(true)},
      {.name = "int32",
       .type = "GatherElements",
       .inputs = {random({4, 3}), int32_places({3, 0, 1, 1, 1, 1}, {2, 3})},
       .reference = element_wise},
      {.name = "columns",
       .type = "Gather",
       .attributes = axis(1),
       .inputs = {random({4, 3}), labels({2, 0}, {2})},
       .reference = picked(false)},
      {.name = "scalar", .type = "Gather", .inputs = {random({4, 3}), labels({2}, {})}},
      {.name = "matrix_of_indices",
       .type = "Gather",
       .attributes = axis(-1),
       .inputs = {random({2, 5}), labels({0, 4, 1, 1}, {2, 2})}},
      {.name = "batch",
       .type = "Gather",
       .attributes = axis(1),
       .inputs = {random({2, 5}), {Literal::vector({3, 1}), false, true, false}},
       .symbolic_batch = true},
      {.name = "rows",
       .type = "GatherElements",
       .inputs = {random({4, 3}), labels({3, 0, 1, 1, 1, 1}, {2, 3})},
       .reference = element_wise},
      {.name = "columns",
       .type = "GatherElements",
       .attributes = axis(1),
       .inputs = {random({2, 4}), labels({-1, 0, 2, 2}, {2, 2})}},
      {.name = "rows",
       .type = "ScatterElements",
       .inputs = {random({3, 3}), labels({1, 0, 2, 0, 2, 1}, {2, 3}), random({2, 3}, 2)}},
      {.name = "largest", .type = "TopK", .inputs = {random({3, 5}), fixed({2})}, .outputs = 2},
      {.name = "batch",
       .type = "TopK",
       .inputs = {random({3, 5}), fixed({5})},
       .outputs = 2,
       .symbolic_batch = true},
      {.name = "smallest_rows",
       .type = "TopK",
       .attributes = {{"axis", int64_t{0}}, {"largest", int64_t{0}}},
       .inputs = {random({4, 3}), fixed({3})},
       .outputs = 2},
      {.name = "elements",
       .type = "GatherND",
       .inputs = {random({2, 3}), labels({0, 1, 1, 2}, {2, 2})}},
      {.name = "slices",
       .type = "GatherND",
       .inputs = {random({2, 3, 4}), labels({1, -1, 0, 0}, {2, 2})}},
      {.name = "batch_dims",
       .type = "GatherND",
       .attributes = {{"batch_dims", int64_t{1}}},
       .inputs = {random({2, 3, 4}), labels({1, 0}, {2, 1})}},
      {.name = "slices",
       .type = "ScatterND",
       .inputs = {random({4, 3}), labels({2, 0}, {2, 1}), random({2, 3}, 2)}},
      {.name = "last_axis",
       .type = "OneHot",
       .inputs = {labels({0, 2, 1}, {3}), fixed({4}), given(on_off)},
       .gradient = false},
      {.name = "first_axis",
       .type = "OneHot",
       .attributes = axis(0),
       .inputs = {labels({0, 2, -1}, {3}), fixed({3}), given(on_off)},
       .gradient = false},
      {.name = "upper", .type = "Trilu", .inputs = {random({3, 4})}},
      {.name = "lower_shifted",
       .type = "Trilu",
       .attributes = {{"upper", int64_t{0}}},
       .inputs = {random({2, 3, 3}), {Literal::scalar(int64_t{-1}), false, true, false}}},
  };
}

class Gathers : public ::testing::TestWithParam<OpCase> {};
TEST_P(Gathers, Case) { check_case(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Table, Gathers, ::testing::ValuesIn(gather_cases()));

TEST(GatherErrors, AnIndexOutsideIsNamed) {
  OpCase c{.name = "bad", .type = "Gather", .inputs = {random({4, 3}), labels({4}, {1})}};
  expect_error([&] { check_case(c); }, "index 4 is outside 0..3");
}

TEST(GatherErrors, OperandsThatDoNotFitEachOtherAreNamed) {
  const auto zeros = [](const Dims& dims) { return given(Literal(DType::int64, dims)); };
  const auto refused = [](const OpCase& c, const std::string& why) {
    SCOPED_TRACE(c.type);
    expect_error([&] { check_case(c); }, c.type, why);
  };
  refused({.name = "bad",
           .type = "GatherElements",
           .attributes = {{"axis", int64_t{1}}},
           .inputs = {random({2, 3}), zeros({3, 3})}},
          "larger than the data, float32[2,3], along axis 0");
  refused({.name = "bad", .type = "GatherElements", .inputs = {random({6}), zeros({3, 2})}},
          "indices are int64[3,2], the data float32[6]");
  refused(
      {.name = "bad", .type = "ScatterElements", .inputs = {random({4}), zeros({3}), random({2})}},
      "updates are float32[2], should be [3]");
  refused({.name = "bad",
           .type = "GatherND",
           .attributes = {{"batch_dims", int64_t{1}}},
           .inputs = {random({2, 3}), zeros({3, 1})}},
          "their first 1 dimensions should be the same");
  refused({.name = "bad",
           .type = "ScatterND",
           .inputs = {random({4, 3}), zeros({2, 1}), random({2, 2})}},
          "updates are float32[2,2], should be [2,3]");
}

TEST(GatherErrors, ADiagonalIsOneNumber) {
  OpCase c{.name = "bad", .type = "Trilu", .inputs = {random({3, 3}), fixed({})}};
  expect_error([&] { check_case(c); }, "Trilu", "diagonals are int64[0], should be [1]");
}

}  // namespace
}  // namespace lockstep::testing
