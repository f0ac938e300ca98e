// SPDX-License-Identifier: Apache-2.0
// Excerpts of long texts, for errors.
#pragma once

#include <algorithm>
#include <string>
#include <utility>

namespace lockstep {

// Returns both texts. If either is longer than `most`, returns the part of each around the first
// difference.
inline std::pair<std::string, std::string> around_difference(const std::string& a,
                                                             const std::string& b,
                                                             std::size_t most) {
  if (a.size() <= most && b.size() <= most) return {a, b};
  const std::size_t both = std::min(a.size(), b.size());
  const std::size_t at =
      std::mismatch(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(both), b.begin()).first -
      a.begin();
  const std::size_t from = at < most / 2 ? 0 : at - most / 2;
  const auto excerpt = [&](const std::string& text) {
    return (from > 0 ? ".." : "") + text.substr(std::min(from, text.size()), most) +
           (from + most < text.size() ? ".." : "");
  };
  return {excerpt(a), excerpt(b)};
}

}  // namespace lockstep
