// Whole numbers with units, as in all-reduce specs and packings.
#pragma once

#include <cstdint>
#include <string>

namespace lockstep {

struct Number {
  int64_t value = 0;
  bool bytes = false;  // it ended with a B
};

// digits [ K | k | M | G | T ] [ "B" ], units of 1024. Signs, blanks, fractions and other units are
// rejected; `what` names the number in the error.
Number parse_number(const std::string& text, const std::string& what);

}  // namespace lockstep
