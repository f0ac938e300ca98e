// SPDX-License-Identifier: Apache-2.0
// Names of moving averages (StateKind::average): the average of w is w_ema.
#pragma once

#include <string>

namespace lockstep {

inline constexpr const char* kAverage = "ema";

inline std::string average_of(const std::string& parameter) { return parameter + "_" + kAverage; }
// The parameter of an average.
inline std::string averaged_by(const std::string& average) {
  return average.substr(0, average.size() - average_of("").size());
}

}  // namespace lockstep
