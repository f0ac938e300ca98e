// SPDX-License-Identifier: Apache-2.0
// Marks that partition() (lockstep/data_parallel.h) reads.
#pragma once

namespace lockstep {

// An attribute of a Copy whose shape depends on the batch: the name of a value on the receiving
// replica that has this shape. Only if shares of the batch are equal.
inline constexpr const char* kShapedLike = "__shaped_like";

}  // namespace lockstep
