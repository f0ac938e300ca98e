// SPDX-License-Identifier: Apache-2.0
// Python's literals of lists, as Detectron's files have them: (800,), ['a', 'b'], ().
#pragma once

#include <string>
#include <vector>

namespace lockstep {

struct LiteralItem {
  std::string text;  // without quotes
  bool is_quoted = false;
};

// True if the text begins like a tuple or a list.
bool is_list_literal(const std::string& text);

// Throws with the reason if `text` is no list. `(800)` is no list: in Python it is the number 800.
std::vector<LiteralItem> parse_list_literal(const std::string& text);

}  // namespace lockstep
