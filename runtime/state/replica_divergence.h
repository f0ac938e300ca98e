// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "lockstep/session.h"

namespace lockstep {

// Checks that replicas have not diverged. Returns, as text, the first replica with a state that
// differs in any bit from replica 0's, or "". With several processes, all must call this function,
// and all get the same result.
std::string find_divergence(const Session& session);

}  // namespace lockstep
