// SPDX-License-Identifier: Apache-2.0
// Filters in tiles (TensorDesc::channel_block) and row-major, as others read and write them.
#pragma once

#include "runtime/tensor.h"

namespace lockstep {

// Copies between the tensor, which may lie in tiles, and row-major elements.
void copy_to_row_major(void* to, const Tensor& from);
void copy_from_row_major(const Tensor& to, const void* from);

}  // namespace lockstep
