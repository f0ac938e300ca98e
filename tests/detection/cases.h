// SPDX-License-Identifier: Apache-2.0
// Inputs and results of Detectron's functions: tests/detection/targets_cases.json. Boxes in the
// file are inclusive.
#pragma once

#include <fstream>
#include <nlohmann/json.hpp>

#include "lockstep/error.h"

namespace lockstep::testing {

inline const nlohmann::json& detectron_cases() {
  static const nlohmann::json cases = [] {
    std::ifstream file(LOCKSTEP_SOURCE_DIR "/tests/detection/targets_cases.json");
    check(file.good(), "tests/detection/targets_cases.json is missing");
    return nlohmann::json::parse(file);
  }();
  return cases;
}

// The boxes as half-open boxes, concatenated.
inline std::vector<float> half_open(const nlohmann::json& boxes) {
  std::vector<float> values;
  for (const auto& box : boxes)
    for (std::size_t k = 0; k < 4; ++k)
      values.push_back(static_cast<float>(box.at(k).get<double>() + (k < 2 ? 0 : 1)));
  return values;
}

}  // namespace lockstep::testing
