// SPDX-License-Identifier: Apache-2.0
// The numbers of a detector's test in scores.json.
#pragma once

#include <nlohmann/json.hpp>

#include "app/detection/results/box_test.h"

namespace lockstep {

// All numbers, and the scores of each class.
nlohmann::ordered_json json_of(const BoxTestResult& result, const Annotations& table);

}  // namespace lockstep
