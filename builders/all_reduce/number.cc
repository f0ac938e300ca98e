// SPDX-License-Identifier: Apache-2.0
#include "builders/all_reduce/number.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "lockstep/error.h"

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

std::string in_units(int64_t number) {
  constexpr const char* kUnits[] = {"", "k", "M", "G", "T"};
  std::size_t unit = 0;
  for (; number != 0 && number % 1024 == 0 && unit + 1 < std::size(kUnits); ++unit) number /= 1024;
  return join(number, kUnits[unit]);
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  for (char letter : text) {
    if (letter == separator)
      parts.emplace_back();
    else
      parts.back() += letter;
  }
  return parts;
}

}  // namespace lockstep
