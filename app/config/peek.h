// SPDX-License-Identifier: Apache-2.0
// Reads single values of a CONFIG.yaml before its table of keys is chosen.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace lockstep {

struct PlacedText {
  std::string text, at;
};

// The text of a value in the file. None if the key is missing or its value is no text.
std::optional<PlacedText> value_in_yaml(const std::string& key, const std::string& text,
                                        const std::string& path);

// The text of a list in the file: [1, 0]. None if the key is missing or its value is no list.
std::optional<PlacedText> list_in_yaml(const std::string& key, const std::string& text,
                                       const std::string& path);

// The files that `_BASE_: FILE` or `_BASE_: [FILE, ..]` names, in order, each with its line. Throws
// for any other value of _BASE_.
std::vector<PlacedText> bases_in_yaml(const std::string& text, const std::string& path);

}  // namespace lockstep
