// SPDX-License-Identifier: Apache-2.0
#include "builders/net/patterns.h"

#include <fnmatch.h>

#include <algorithm>

#include "lockstep/error.h"

namespace lockstep {

bool matches_any(const std::string& name, const std::vector<std::string>& patterns) {
  return std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
    return fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
  });
}

void check_patterns_used(const std::vector<std::string>& patterns,
                         const std::vector<std::string>& names, const std::string& what) {
  for (const std::string& pattern : patterns)
    check(std::any_of(names.begin(), names.end(),
                      [&](const std::string& name) { return matches_any(name, {pattern}); }),
          what, ": no parameter is called '", pattern, "'");
}

}  // namespace lockstep
