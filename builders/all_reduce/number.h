// Whole numbers with units, as all-reduce specs and packings write them.
#pragma once

#include <cstdint>
#include <string>

namespace lockstep {

struct Number {
  int64_t value = 0;
  bool bytes = false;  // a B ended it
};

// digits [ K | k | M | G | T ] [ "B" ], units of 1024. Signs, blanks, fractions and other units are
// refused; `what` names the number in the error.
Number parse_number(const std::string& text, const std::string& what);

}  // namespace lockstep
