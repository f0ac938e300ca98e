// SPDX-License-Identifier: Apache-2.0
// Matrix products. Their gradients are the same operators with transposed operands.
#pragma once

#include <vector>

#include "graph/graph.h"
#include "graph/op.h"
#include "runtime/kernel/table.h"

namespace lockstep {

// Y = alpha * op(A) op(B) + beta * C, C broadcast.
struct GemmAttrs {
  float alpha = 1;
  float beta = 1;
  bool trans_a = false;
  bool trans_b = false;
};
GemmAttrs read_gemm(AttributeReader attributes);

Value gemm(Graph& graph, Value a, Value b, Value c = none, const GemmAttrs& attrs = {},
           const Site& site = {});
// numpy's matmul: multiplies the last two dimensions, broadcasts the others.
Value matmul(Graph& graph, Value a, Value b, const Site& site = {});

std::vector<Op> gemm_ops();
std::vector<KernelEntry> gemm_cpu();
std::vector<KernelEntry> gemm_cuda();

}  // namespace lockstep
