// SPDX-License-Identifier: Apache-2.0
// Suggestions for misspelt words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

// The candidate that is `word` in another case, that begins with it, or that is closest to it by
// edit distance, whatever the case; "" if none is close.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);
// The same, at a distance of `most` edits or fewer.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates,
                    std::size_t most);

}  // namespace lockstep
