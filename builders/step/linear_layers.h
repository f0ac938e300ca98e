// SPDX-License-Identifier: Apache-2.0
// Linear layers as one product each, before differentiation: MatMul(x, Transpose(W)) + b, as
// exporters write them, becomes a Gemm of x's rows, W and b. So W is not copied, the bias stays in
// the product's precision, and each gradient is one Gemm, too.
#pragma once

#include "builders/step/one_replica.h"

namespace lockstep {

void make_linear_layers_products(OneReplica& one);

}  // namespace lockstep
