// SPDX-License-Identifier: Apache-2.0
// Several runs on one self-contained page: curves over each other, speed, time by kind, memory, and
// the keys of their configurations that differ.
#pragma once

#include <string>
#include <vector>

#include "app/html.h"
#include "app/record/metrics.h"

namespace lockstep {

struct ComparedRun {
  std::string name;
  std::vector<MetricRow> metrics;
  std::string iterations;  // that its configuration asks for; "" if unknown
};

// A key with its value in each run.
struct ComparedSetting {
  std::string key;
  std::vector<std::string> values;
};

struct RunComparison {
  std::vector<ComparedRun> runs;  // 1 to kMostRuns
  std::vector<ComparedSetting> settings;
  std::string about_settings;  // said before the table, or instead
  NamedTexts about;
};
// More lines cannot be told apart in a chart.
inline constexpr std::size_t kMostRuns = 12;

std::string html_of(const RunComparison& comparison);

}  // namespace lockstep
