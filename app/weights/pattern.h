// SPDX-License-Identifier: Apache-2.0
// Patterns of tensor names.
#pragma once

#include <regex>
#include <string>

namespace lockstep {

// The library's matcher recurs once per letter, so a hostile name could exhaust the stack.
inline constexpr std::size_t kLongestKnownName = 300;

// True if the whole name fits. No name of a published network is as long as kLongestKnownName.
inline bool fits_pattern(const std::string& name, const std::regex& pattern) {
  return name.size() <= kLongestKnownName && std::regex_match(name, pattern);
}
inline bool fits_pattern(const std::string& name, std::smatch& match, const std::regex& pattern) {
  return name.size() <= kLongestKnownName && std::regex_match(name, match, pattern);
}

}  // namespace lockstep
