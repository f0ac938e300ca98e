// SPDX-License-Identifier: Apache-2.0
// Numbers of a whole run, from the rows of its metrics.jsonl.
#pragma once

#include <string>
#include <vector>

#include "app/record/metrics.h"

namespace lockstep {

// Seconds of a step by kind: waiting for data, .., and the rest, computing.
struct TimeOfKind {
  std::string kind;
  double seconds = 0;
};

struct RunFacts {
  double iterations = 0;
  double seconds = 0;             // of all steps
  std::string unit = "";          // of the speed: "images"; "" if the run has no speed
  double speed = 0;               // mean over all steps, units per second
  double memory_mib = 0;          // the peak
  std::vector<TimeOfKind> times;  // of a step, means over all steps; empty if unknown
};
RunFacts facts_of(const std::vector<MetricRow>& rows);

// The last, least and largest of a metric's values; NaN if there are none.
struct MetricRange {
  double last, least, most;
};
MetricRange range_of(const std::vector<MetricRow>& rows, const std::string& metric);

// Names of metrics except the iteration, each once, in the order of their first row.
std::vector<std::string> metrics_in(const std::vector<MetricRow>& rows);

}  // namespace lockstep
