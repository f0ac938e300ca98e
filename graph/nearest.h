// Suggestions for misspelt words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

// The candidate that begins with `word` or is closest to it by edit distance; "" if none is close.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace lockstep
