// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lockstep/kernel.h"

namespace lockstep {

// Refuses a grid, operand `i`, whose element type differs from the type of operand 0.
inline Refusal takes_grid_like_data(std::size_t i) {
  return [i](const KernelRequest& request) -> std::string {
    const DType data = request.in[0].dtype, grid = request.in[i].dtype;
    return data == grid ? ""
                        : join("takes a grid of ", data, " for data of ", data, ", not ", grid);
  };
}

}  // namespace lockstep
