// SPDX-License-Identifier: Apache-2.0
// A first look at a CONFIG.yaml, before it is known which table of keys applies.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace lockstep {

struct PlacedText {
  std::string text, at;
};

// The text of a file's value; none where the key is missing or no text.
std::optional<PlacedText> value_in_yaml(const std::string& key, const std::string& text,
                                        const std::string& path);

// The files that `_BASE_: FILE` or `_BASE_: [FILE, ..]` names, in that order, each with its own
// line. Throws for anything else below _BASE_.
std::vector<PlacedText> bases_in_yaml(const std::string& text, const std::string& path);

}  // namespace lockstep
