// SPDX-License-Identifier: Apache-2.0
// The size of a value in the graph: row-major, without a plan's padding.
#pragma once

#include <cstddef>

#include "lockstep/types.h"

namespace lockstep {

// Throws for a symbolic dimension.
inline std::size_t bytes_of(const TensorType& type) {
  return element_count(to_dims(type.shape)) * size_of(type.dtype);
}

}  // namespace lockstep
