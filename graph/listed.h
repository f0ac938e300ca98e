// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

// "a, b, c"
inline std::string listed(const std::vector<std::string>& words, std::string_view between = ", ") {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += between;
    text += words[i];
  }
  return text;
}

// "a, b, ..": the first `most` of them.
inline std::string first_listed(std::vector<std::string> words, std::size_t most) {
  const bool cut = words.size() > most;
  words.resize(std::min(words.size(), most));
  if (cut) words.emplace_back("..");
  return listed(words);
}

}  // namespace lockstep
