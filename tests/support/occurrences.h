// SPDX-License-Identifier: Apache-2.0
// Counts the occurrences of a text within a text.
#pragma once

#include <string>

namespace lockstep::testing {

inline int occurrences(const std::string& text, const std::string& part) {
  int count = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

}  // namespace lockstep::testing
