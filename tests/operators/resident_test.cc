// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "lockstep/op.h"
#include "tests/support/any_threads.h"
#include "tests/support/op_case.h"

namespace lockstep::testing {
namespace {

CaseInput minibatch_of(int64_t rows) { return given(Literal(DType::float32, {rows, 0})); }

OpCase slice_case(const std::string& name, CaseInput held, int64_t index, int64_t rows) {
  return {.name = name,
          .type = "ResidentSlice",
          .domain = kOwnDomain,
          .inputs = {std::move(held), labels({index}, {}), minibatch_of(rows)},
          .reference =
              [=](const std::vector<Doubles>& in) {
                Doubles y{in[0].dims, {}};
                y.dims[0] = rows;
                const int64_t row = element_count(y.dims) / rows;
                for (int64_t i = 0; i < rows * row; ++i) y.values.push_back(in[0][index * row + i]);
                return std::vector<Doubles>{y};
              },
          .gradient = false};
}

std::vector<OpCase> slice_cases() {
  return {slice_case("first", random({5, 3}), 0, 2),
          slice_case("middle", random({5, 2, 3}), 2, 2),
          slice_case("last", random({5, 3}), 3, 2),
          slice_case("all", random({5, 3}), 0, 5),
          slice_case("one_row", random({3, 7}), 2, 1),
          slice_case("labels", labels({4, 5, 6, 7, 8, 9, 10}, {7}), 3, 3),
          slice_case("rows_of_nothing", random({4, 0}), 1, 2)};
}

class ResidentSlices : public ::testing::TestWithParam<OpCase> {};
TEST_P(ResidentSlices, Case) { check_case(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Table, ResidentSlices, ::testing::ValuesIn(slice_cases()));

TEST(ResidentSliceKernel, HasTheSameBitsOnAnyThreads) {
  expect_same_bits_on_any_threads(slice_case("large", random({5, 50021}), 1, 3));
}

}  // namespace
}  // namespace lockstep::testing
