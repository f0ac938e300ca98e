// SPDX-License-Identifier: Apache-2.0
// Identifies formats that Lockstep does not read by their first bytes, for messages.
#pragma once

#include <string_view>

namespace lockstep {

// Returns a name such as "a GIF file", or "" for an unlisted format.
std::string_view name_of_other_format(std::string_view bytes);

}  // namespace lockstep
