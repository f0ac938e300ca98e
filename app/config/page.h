// SPDX-License-Identifier: Apache-2.0
// Documentation of keys.
#pragma once

#include <string>

#include "app/config/key.h"

namespace lockstep {

// A reference page: `intro` with its title, then a table for each section.
std::string markdown_of(const ConfigKeys& keys, const std::string& intro);
// A listing for terminals, of keys with `part` in their names. Throws if there are none.
std::string listing_of(const ConfigKeys& keys, const std::string& part);

}  // namespace lockstep
