// SPDX-License-Identifier: Apache-2.0
#include "app/report/run_facts.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string_view>

namespace lockstep {
namespace {

constexpr std::string_view kSpeed = "_per_second", kTime = "_time";

}  // namespace

RunFacts facts_of(const std::vector<MetricRow>& rows) {
  RunFacts facts;
  double before = 0, units = 0;
  const auto add_time = [&](const std::string& kind, double seconds) {
    const auto known = std::find_if(facts.times.begin(), facts.times.end(),
                                    [&](const TimeOfKind& time) { return time.kind == kind; });
    if (known == facts.times.end())
      facts.times.push_back({kind, seconds});
    else
      known->seconds += seconds;
  };
  double computing = 0;
  for (const MetricRow& row : rows) {
    const double iteration = value_of(row, "iter"), time = value_of(row, "time");
    if (std::isfinite(iteration)) facts.iterations = std::max(facts.iterations, iteration);
    if (const double memory = value_of(row, "memory_mib"); std::isfinite(memory))
      facts.memory_mib = std::max(facts.memory_mib, memory);
    if (!std::isfinite(iteration) || !std::isfinite(time)) continue;
    // A row of steps: its times are means over the steps since the row before.
    const double steps = std::max(iteration - before, 0.0);
    before = iteration;
    facts.seconds += time * steps;
    double known = 0;
    for (const auto& [name, value] : row) {
      if (!std::isfinite(value)) continue;
      if (name.ends_with(kTime)) {
        add_time(name.substr(0, name.size() - kTime.size()), value * steps);
        known += value;
      } else if (name.ends_with(kSpeed)) {
        facts.unit = name.substr(0, name.size() - kSpeed.size());
        units += value * time * steps;
      }
    }
    computing += std::max(time - known, 0.0) * steps;
  }
  if (facts.seconds > 0) facts.speed = units / facts.seconds;
  if (computing > 0) facts.times.insert(facts.times.begin(), {"computing", computing});
  const double steps = std::max(before, 1.0);
  for (TimeOfKind& time : facts.times) time.seconds /= steps;
  return facts;
}

MetricRange range_of(const std::vector<MetricRow>& rows, const std::string& metric) {
  const double none = std::numeric_limits<double>::quiet_NaN();
  MetricRange range{none, none, none};
  for (const MetricRow& row : rows) {
    const double value = value_of(row, metric);
    if (!std::isfinite(value)) continue;
    range.last = value;
    if (!(range.least <= value)) range.least = value;
    if (!(range.most >= value)) range.most = value;
  }
  return range;
}

std::vector<std::string> metrics_in(const std::vector<MetricRow>& rows) {
  std::vector<std::string> names;
  std::set<std::string_view> known;
  for (const MetricRow& row : rows)
    for (const auto& [name, value] : row)
      if (name != "iter" && known.insert(name).second) names.push_back(name);
  return names;
}

}  // namespace lockstep
