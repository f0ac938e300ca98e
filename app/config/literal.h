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

// Begins like a tuple or a list.
bool is_list_literal(const std::string& text);

// Throws saying why it is none. `(800)` is none: in Python it is the number 800.
std::vector<LiteralItem> parse_list_literal(const std::string& text);

}  // namespace lockstep
