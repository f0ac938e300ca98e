// SPDX-License-Identifier: Apache-2.0
// Keys with a wish that this version does not fulfil (KeyFacts::not_done).
#pragma once

#include <string>
#include <vector>

#include "app/config/key.h"
#include "app/config/origin.h"

namespace lockstep {

bool has_wish(const ConfigKey& key);

// Throws naming every key with a wish that the command's scores or files would lack.
void refuse_not_done(const ConfigKeys& keys, const std::string& command, const Origins& origins,
                     const std::string& path);

// A line for each key with such a wish.
std::vector<std::string> notes_of_not_done(const ConfigKeys& keys, const Origins& origins,
                                           const std::string& path);

// "`test`, `infer` refuse this"
std::string refusal_of(const NotDone& wish);

}  // namespace lockstep
