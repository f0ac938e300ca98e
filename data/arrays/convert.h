// SPDX-License-Identifier: Apache-2.0
// Conversion of elements to the type that a network asks for.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lockstep/types.h"

namespace lockstep {

// Converts `count` elements. Returns the index of the first element that does not fit, or -1.
using ConvertElements = int64_t (*)(const std::byte* from, std::byte* to, int64_t count);

// Floats become other floats, rounded; integers and booleans become floats, rounded, or other
// integers that have the same value. Returns nothing for floats to integers: the fraction would be
// lost.
ConvertElements array_conversion(DType from, DType to);

}  // namespace lockstep
