// SPDX-License-Identifier: Apache-2.0
#include "app/format.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <sstream>

namespace lockstep {

std::string fixed(double value, int digits) {
  if (std::isnan(value)) return "nan";  // the sign of a NaN means nothing
  std::ostringstream text;
  text << std::fixed << std::setprecision(digits) << value;
  return text.str();
}

std::string percent(double share, int digits) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(digits) << 100 * share << " %";
  return text.str();
}

std::string short_number(double value) {
  std::ostringstream text;
  if (std::abs(value) < 1000 || std::abs(value) > 1e15) {
    text << std::setprecision(4) << (std::abs(value) < 1e-12 ? 0 : value);
    return text.str();
  }
  text << std::fixed << std::setprecision(0) << value;
  std::string digits = text.str();
  for (std::size_t at = digits.size(); at > 3 + (value < 0);) {
    at -= 3;
    if (at > (value < 0 ? 1U : 0U)) digits.insert(at, ",");
  }
  return digits;
}

std::string in_units(double count) {
  if (count >= 1e9) return short_number(count / 1e9) + " G";
  return count >= 1e6 ? short_number(count / 1e6) + " M" : short_number(count);
}

std::string count_of(int64_t count, const std::string& one, const std::string& several) {
  return short_number(static_cast<double>(count)) + " " + (count == 1 ? one : several);
}

std::string clock_text(double seconds) {
  const auto whole = static_cast<int64_t>(std::lround(std::min(seconds, 1e9)));
  std::ostringstream text;
  text << std::setfill('0');
  if (whole >= 3600)
    text << whole / 3600 << ":" << std::setw(2) << whole / 60 % 60 << ":" << std::setw(2)
         << whole % 60;
  else
    text << whole / 60 << ":" << std::setw(2) << whole % 60;
  return text.str();
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace lockstep
