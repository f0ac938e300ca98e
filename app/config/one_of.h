// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "app/config/key.h"

namespace lockstep {

// The target of a text that must be one of `words`.
ParsedText one_of(std::string& value, const std::vector<std::string>& words);

}  // namespace lockstep
