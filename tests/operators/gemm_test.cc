// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/support/op_case.h"

namespace lockstep::testing {
namespace {

// alpha * op(A) op(B) + beta * C with C of shape [n], [m, n] or [1].
Reference gemm_reference(bool ta, bool tb, double alpha = 1, double beta = 1) {
  return [=](const std::vector<Doubles>& in) {
    const Doubles &a = in[0], &b = in[1];
    int64_t m = a.dims[ta ? 1 : 0], k = a.dims[ta ? 0 : 1], n = b.dims[tb ? 0 : 1];
    Doubles y{{m, n}, std::vector<double>(m * n)};
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        double total = 0;
        for (int64_t l = 0; l < k; ++l)
          total += a[ta ? l * m + i : i * k + l] * b[tb ? j * k + l : l * n + j];
        double c = 0;
        if (in.size() > 2 && !in[2].values.empty()) c = in[2][(i * n + j) % in[2].values.size()];
        y[i * n + j] = alpha * total + beta * c;
      }
    return std::vector<Doubles>{y};
  };
}

// Batches of matrices; the right operand may lack the batch dimension.
std::vector<Doubles> batched(const std::vector<Doubles>& in) {
  const Doubles &a = in[0], &b = in[1];
  int64_t batch = a.dims[0], m = a.dims[1], k = a.dims[2], n = b.dims.back();
  bool shared = b.dims.size() == 2 || b.dims[0] == 1;
  Doubles y{{batch, m, n}, std::vector<double>(batch * m * n)};
  for (int64_t q = 0; q < batch; ++q)
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j)
        for (int64_t l = 0; l < k; ++l)
          y[(q * m + i) * n + j] += a[(q * m + i) * k + l] * b[((shared ? 0 : q) * k + l) * n + j];
  return {y};
}

std::vector<OpCase> gemm_cases() {
  auto attrs = [](bool ta, bool tb, float alpha = 1, float beta = 1) {
    return Attributes{
        {"transA", int64_t{ta}}, {"transB", int64_t{tb}}, {"alpha", alpha}, {"beta", beta}};
  };
  return {
      {.name = "plain",
       .type = "Gemm",
       .inputs = {random({3, 4}), random({4, 5}, 2)},
       .reference = gemm_reference(false, false)},
      {.name = "bias",
       .type = "Gemm",
       .attributes = attrs(false, true),
       .inputs = {random({3, 4}), random({5, 4}, 2), random({5}, 3)},
       .reference = gemm_reference(false, true)},
      {.name = "batch",
       .type = "Gemm",
       .attributes = attrs(false, true),
       .inputs = {random({3, 4}),
                  {random({5, 4}, 2).value, false, true, false},
                  {random({5}, 3).value, false, true, false}},
       .reference = gemm_reference(false, true),
       .symbolic_batch = true},
      {.name = "ta",
       .type = "Gemm",
       .attributes = attrs(true, false, 0.5F),
       .inputs = {random({4, 3}), random({4, 5}, 2)},
       .reference = gemm_reference(true, false, 0.5)},
      {.name = "tatb",
       .type = "Gemm",
       .attributes = attrs(true, true, 2),
       .inputs = {random({4, 3}), random({5, 4}, 2)},
       .reference = gemm_reference(true, true, 2)},
      {.name = "full_c",
       .type = "Gemm",
       .attributes = attrs(false, false, 1, 0.25F),
       .inputs = {random({2, 3}), random({3, 2}, 2), random({2, 2}, 3)},
       .reference = gemm_reference(false, false, 1, 0.25)},
      {.name = "scalar_c",
       .type = "Gemm",
       .inputs = {random({2, 3}), random({3, 2}, 2), random({1}, 3)},
       .reference = gemm_reference(false, false)},
      {.name = "row_of_one",
       .type = "Gemm",
       .inputs = {random({1, 1}), random({1, 1}, 2)},
       .reference = gemm_reference(false, false)},
      {.name = "no_inner",
       .type = "Gemm",
       .inputs = {random({2, 0}), random({0, 3}, 2), random({3}, 3)},
       .reference = gemm_reference(false, false),
       .gradient = false},
      {.name = "plain",
       .type = "MatMul",
       .inputs = {random({3, 4}), random({4, 2}, 2)},
       .reference = gemm_reference(false, false)},
      {.name = "batched",
       .type = "MatMul",
       .inputs = {random({2, 3, 4}), random({2, 4, 2}, 2)},
       .reference = batched},
      {.name = "shared_right",
       .type = "MatMul",
       .inputs = {random({2, 3, 4}), random({4, 2}, 2)},
       .reference = batched},
      {.name = "broadcast_right",
       .type = "MatMul",
       .inputs = {random({2, 3, 4}), random({1, 4, 2}, 2)},
       .reference = batched},
      {.name = "vector_right", .type = "MatMul", .inputs = {random({3, 4}), random({4}, 2)}},
      {.name = "vector_left", .type = "MatMul", .inputs = {random({4}), random({4, 3}, 2)}},
      {.name = "vectors", .type = "MatMul", .inputs = {random({4}), random({4}, 2)}},
      {.name = "vector_right_batched",
       .type = "MatMul",
       .inputs = {random({2, 3, 4}), random({4}, 2)}},
      {.name = "vector_left_batched",
       .type = "MatMul",
       .inputs = {random({4}), random({2, 4, 3}, 2)}},
  };
}

class Gemm : public ::testing::TestWithParam<OpCase> {};
TEST_P(Gemm, Case) { check_case(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Table, Gemm, ::testing::ValuesIn(gemm_cases()));

}  // namespace
}  // namespace lockstep::testing
