// SPDX-License-Identifier: Apache-2.0
#include "app/diff/result_changes.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <string_view>

#include "graph/literal_difference.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

using ValuesByIteration = std::map<double, double>;  // by iteration

struct Curves {
  std::vector<std::string> order;
  std::map<std::string, ValuesByIteration> named;
  double last = 0;  // iteration
};

Curves curves_in(const std::vector<MetricRow>& rows) {
  Curves curves;
  for (const MetricRow& row : rows) {
    const double iteration = value_of(row, "iter");
    if (!std::isfinite(iteration)) continue;
    curves.last = std::max(curves.last, iteration);
    for (const auto& [name, value] : row) {
      if (name == "iter" || is_measured(name)) continue;
      if (curves.named.count(name) == 0) curves.order.push_back(name);
      curves.named[name][iteration] = value;
    }
  }
  return curves;
}

bool same_number(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

// Compares at the iterations that both have.
void compare_curves(const std::string& name, const ValuesByIteration& a, const ValuesByIteration& b,
                    Changes& changes) {
  for (const auto& [iteration, value] : a) {
    const auto other = b.find(iteration);
    if (other == b.end() || same_number(value, other->second)) continue;
    changes.push_back({.part = DiffPart::results,
                       .of = "metric",
                       .name = name,
                       .a = shortest_text(a.rbegin()->second),
                       .b = shortest_text(b.rbegin()->second),
                       .note = join("differs from iteration ", shortest_text(iteration), " on")});
    return;
  }
}

}  // namespace

bool is_measured(const std::string& metric) {
  constexpr std::string_view kNames[] = {"time", "eta", "queue", "memory_mib"};
  return std::find(std::begin(kNames), std::end(kNames), metric) != std::end(kNames) ||
         metric.ends_with("_time") || metric.ends_with("_per_second");
}

void add_result_changes(const std::vector<MetricRow>& a, const std::vector<MetricRow>& b,
                        Changes& changes) {
  const Curves of_a = curves_in(a), of_b = curves_in(b);
  if (of_a.last != of_b.last)
    changes.push_back({.part = DiffPart::results,
                       .of = "number",
                       .name = "iterations",
                       .a = shortest_text(of_a.last),
                       .b = shortest_text(of_b.last)});
  const auto add = [&](DiffKind kind, const std::string& name) {
    changes.push_back({.part = DiffPart::results, .kind = kind, .of = "metric", .name = name});
  };
  for (const std::string& name : of_a.order)
    if (const auto other = of_b.named.find(name); other == of_b.named.end())
      add(DiffKind::only_in_a, name);
    else
      compare_curves(name, of_a.named.at(name), other->second, changes);
  for (const std::string& name : of_b.order)
    if (of_a.named.count(name) == 0) add(DiffKind::only_in_b, name);
}

}  // namespace lockstep
