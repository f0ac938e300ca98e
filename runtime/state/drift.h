// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "runtime/state/session.h"

namespace lockstep {

// The replica divergence check: the first replica whose copy of a state differs in any bit from
// replica 0's, as text, or "". With several processes all must call it, and all get the same
// result.
std::string find_drift(const Session& session);

}  // namespace lockstep
