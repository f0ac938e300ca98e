// SPDX-License-Identifier: Apache-2.0
// EXPECTED_RESULTS: numbers that a test's results are compared with.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/detection/config/detector_config.h"
#include "app/detection/results/box_test.h"

namespace lockstep {

struct ExpectedResult {
  std::string set, task, metric;  // "coco_2014_minival", "box", "AP50"
  double value = 0;
  std::optional<double> deviation;  // of the value over several runs
};

// Reads EXPECTED_RESULTS. Throws, naming the key, for anything but a list of [data set, task,
// number, value], and for results that this test does not compute.
std::vector<ExpectedResult> expected_results(const DetectorConfig& config);

struct ComparedResult {
  bool holds = false;
  std::string line;  // "PASS scenes_val box AP: 0.512, expected 0.5 within 0.055"
};
// Compares with a test of the data set that `expected` names.
ComparedResult compared(const ExpectedResult& expected, const BoxTestResult& result,
                        const ExpectedResults& tolerance);

}  // namespace lockstep
