// SPDX-License-Identifier: Apache-2.0
// Suggestions for misspelt words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

// Returns the candidate that equals `word` except for case, that begins with `word`, or that is
// nearest by edit distance, ignoring case. Returns "" if none is near.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);
// As above, with an edit distance of at most `most`.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates,
                    std::size_t most);

}  // namespace lockstep
