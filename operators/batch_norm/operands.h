// SPDX-License-Identifier: Apache-2.0
// Indices of the operands and results of batch norms.
#pragma once

#include <cstddef>

#include "operators/kit/operands.h"

namespace lockstep {

// BatchNormalization and BatchNormTrain. Operands from z on occur in plans only.
struct BatchNormIn {
  enum : std::size_t { x, scale, bias, mean, variance, z, sums, squares };
};
struct BatchNormOut {
  enum : std::size_t { y, new_mean, new_variance, saved_mean, saved_variance };
};

// BatchNormGrad; bias, y and dz occur in plans only.
struct BatchNormGradIn {
  enum : std::size_t { dy, x, scale, mean, variance, bias, y };
};
struct BatchNormGradOut {
  enum : std::size_t { dx, dscale, dbias, dz };
};

}  // namespace lockstep
