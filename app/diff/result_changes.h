// SPDX-License-Identifier: Apache-2.0
// The differences of the numbers of two runs.
#pragma once

#include <vector>

#include "app/diff/change.h"
#include "app/record/metrics.h"

namespace lockstep {

// Appends the metrics that differ, with their last values and the first iteration that differs.
// Times, speeds and sizes of memory differ between any two runs and are not compared.
void add_result_changes(const std::vector<MetricRow>& a, const std::vector<MetricRow>& b,
                        Changes& changes);

// True for a number that measures the machine: a time, a speed, memory.
bool is_measured(const std::string& metric);

}  // namespace lockstep
