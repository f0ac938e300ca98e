// SPDX-License-Identifier: Apache-2.0
// Booleans from files, whose bytes may have any value.
#pragma once

#include "lockstep/attributes.h"

namespace lockstep {

// Sets each nonzero byte of a boolean literal to 1. No effect on other types.
void normalise_booleans(Literal& literal);

}  // namespace lockstep
