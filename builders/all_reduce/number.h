// SPDX-License-Identifier: Apache-2.0
// The syntax of all-reduce specs and packings: separators, and whole numbers with units.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep {

struct Number {
  int64_t value = 0;
  bool bytes = false;  // the text ends with a B
};

// digits [ K | k | M | G | T ] [ "B" ], units of 1024. Signs, blanks, fractions and other units are
// rejected; `what` names the number in the error.
Number parse_number(const std::string& text, const std::string& what);
// Returns a text that parse_number() reads back: 1048576 is 1M.
std::string in_units(int64_t number);

// The parts between separators, at least one.
std::vector<std::string> split(const std::string& text, char separator);

}  // namespace lockstep
