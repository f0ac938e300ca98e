// SPDX-License-Identifier: Apache-2.0
// Name patterns with * and ?, by which users select parameters.
#pragma once

#include <string>
#include <vector>

namespace lockstep {

bool matches_any(const std::string& name, const std::vector<std::string>& patterns);
// Throws, prefixed with `what`, if a pattern matches no name.
void check_patterns_used(const std::vector<std::string>& patterns,
                         const std::vector<std::string>& names, const std::string& what);

}  // namespace lockstep
