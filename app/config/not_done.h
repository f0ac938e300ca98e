// SPDX-License-Identifier: Apache-2.0
// Keys that ask for an effect that this version lacks (KeyFacts::not_done).
#pragma once

#include <string>
#include <vector>

#include "app/config/key.h"
#include "app/config/origin.h"

namespace lockstep {

bool has_wish(const ConfigKey& key);

// Throws if the command would give wrong scores or files without such an effect. Names every key.
void refuse_not_done(const ConfigKeys& keys, const std::string& command, const Origins& origins,
                     const std::string& path);

// A line for each key that asks for a missing effect.
std::vector<std::string> notes_of_not_done(const ConfigKeys& keys, const Origins& origins,
                                           const std::string& path);

// "`test`, `infer` refuse this"
std::string refusal_of(const NotDone& wish);

}  // namespace lockstep
