// Keys for people to read.
#pragma once

#include <string>

#include "tools/settings/key.h"

namespace lockstep {

// The reference page.
std::string markdown_of(const ConfigKeys& keys);
// For a terminal; those whose names contain `part`. Throws when none does.
std::string listing_of(const ConfigKeys& keys, const std::string& part);

}  // namespace lockstep
