// SPDX-License-Identifier: Apache-2.0
// Figures of graphs as texts. They are floating-point numbers: a forged shape may have any size.
#pragma once

#include <cctype>
#include <string>

#include "app/format.h"
#include "graph/limits.h"

namespace lockstep {

inline std::string bytes_text(double bytes) {
  return bytes < 0x1p63 ? text_of_bytes(static_cast<std::size_t>(bytes)) : "more than 8 EiB";
}
inline std::string flop_text(double flops) {
  const std::string number = in_units(flops);  // "8.18 G", "981"
  return number + (std::isalpha(static_cast<unsigned char>(number.back())) ? "FLOP" : " FLOP");
}

}  // namespace lockstep
