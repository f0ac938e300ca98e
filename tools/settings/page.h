// Documentation of keys.
#pragma once

#include <string>

#include "tools/settings/key.h"

namespace lockstep {

// The reference page.
std::string markdown_of(const ConfigKeys& keys);
// A listing for terminals, of keys whose names contain `part`. Throws if there are none.
std::string listing_of(const ConfigKeys& keys, const std::string& part);

}  // namespace lockstep
