#include "builders/all_reduce/number.h"

#include <algorithm>
#include <limits>

#include "graph/error.h"

namespace lockstep {

Number parse_number(const std::string& original, const std::string& what) {
  std::string text = original;
  Number number;
  if (!text.empty() && text.back() == 'B') {
    number.bytes = true;
    text.pop_back();
  }
  int64_t unit = 1;
  if (!text.empty()) {
    switch (text.back()) {
      case 'k':
      case 'K':
        unit = int64_t{1} << 10;
        break;
      case 'M':
        unit = int64_t{1} << 20;
        break;
      case 'G':
        unit = int64_t{1} << 30;
        break;
      case 'T':
        unit = int64_t{1} << 40;
        break;
      default:
        break;
    }
    if (unit > 1) text.pop_back();
  }
  const bool digits = !text.empty() && std::all_of(text.begin(), text.end(), [](char letter) {
    return letter >= '0' && letter <= '9';
  });
  check(digits && text.size() < 16, what, " '", original,
        "' should be an integer, optionally with K, M, G or T and, for bytes, B: 32k, 4MB");
  number.value = std::stoll(text);
  check(number.value <= std::numeric_limits<int64_t>::max() / unit, what, " '", original,
        "' is too large");
  number.value *= unit;
  return number;
}

}  // namespace lockstep
