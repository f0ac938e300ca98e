// SPDX-License-Identifier: Apache-2.0
// Rewrites each linear layer as one product, before differentiation. MatMul(x, Transpose(W)) + b,
// as exporters write it, becomes a Gemm of x's rows, W and b. So W is not copied, the bias is added
// in the product's precision, and each gradient is one Gemm, too.
#pragma once

#include "builders/step/one_replica.h"

namespace lockstep {

void make_linear_layers_products(OneReplica& one);

}  // namespace lockstep
