// SPDX-License-Identifier: Apache-2.0
// Limits of a rendezvous. lockstep/processes.h has the interface: World, join_world().
#pragma once

#include "runtime/dist/store.h"

namespace lockstep {

// World::patience by LOCKSTEP_TIMEOUT, from 1 to kMostPatience seconds, or the usual one.
inline constexpr int kMostPatience = 1'000'000;
Milliseconds patience_of_environment();

}  // namespace lockstep
