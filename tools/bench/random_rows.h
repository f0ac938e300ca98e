// SPDX-License-Identifier: Apache-2.0
// Made-up examples for benchmarks.
#pragma once

#include "lockstep/attributes.h"
#include "lockstep/random.h"

namespace lockstep {

// Draws classes for int64, bytes for uint8, otherwise floats in -1..1.
Literal random_rows(DType dtype, const Dims& dims, int64_t classes, PhiloxSequence& random);

}  // namespace lockstep
