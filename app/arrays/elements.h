// SPDX-License-Identifier: Apache-2.0
// Elements of row-major tensors of any type, as numbers.
#pragma once

#include "lockstep/tensor.h"

namespace lockstep {

// Throws for types that are no numbers.
double element(const Tensor& tensor, int64_t place);

}  // namespace lockstep
