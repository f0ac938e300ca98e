// SPDX-License-Identifier: Apache-2.0
#include "app/arrays/metrics.h"

#include <cstdlib>

#include "app/config/nested.h"
#include "app/format.h"
#include "graph/listed.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

std::vector<std::string> kind_names() {
  std::vector<std::string> names;
  for (const MetricKind& kind : metric_kinds()) names.push_back(kind.name);
  return names;
}

// "top5" is the kind `top` with its number.
Metric metric_named(const std::string& name) {
  for (const MetricKind& kind : metric_kinds()) {
    if (kind.name == name && kind.name != "top") return {.name = name, .kind = &kind};
    const bool counts = kind.name == "top" && name.starts_with("top") && name.size() > 3 &&
                        name.size() < 10 && name.find_first_not_of("0123456789", 3) == name.npos;
    if (!counts) continue;
    Metric metric{.name = name, .kind = &kind};
    metric.options.best = std::atoll(name.c_str() + 3);
    check(metric.options.best > 0, "the metric ", name, " counts nothing");
    return metric;
  }
  fail("the metric '", name, "' is not known; known: ", listed(kind_names()),
       " (top5: among the five best)");
}

void read_field(Metric& metric, const std::string& field, const Nested& value) {
  const std::string what = join(metric.name, "'s ", field);
  if (field == "of")
    metric.output = value.name(what);
  else if (field == "to")
    metric.target = value.name(what);
  else if (field == "mask")
    metric.mask = value.name(what);
  else if (field == "ignore")
    metric.options.ignore = value.integer(what);
  else if (field == "above")
    metric.options.above = value.number(what);
  else
    fail(metric.name, " has no field '", field, "'; its fields: of, to, mask, ignore, above");
}

Metric metric_of(const std::string& name, const Nested& value) {
  Metric metric = metric_named(name);
  if (value.kind == Nested::Kind::list) {
    check(value.list.size() == 2, name, " should be [OUTPUT, TARGET], is '", text_of(value), "'");
    metric.output = value.list[0].name(name + "'s output");
    metric.target = value.list[1].name(name + "'s target");
  }
  for (const auto& [field, inner] : value.fields) read_field(metric, field, inner);
  check(!metric.output.empty() && !metric.target.empty(), name,
        " needs an output (of) and a target (to), is '", text_of(value), "'");
  return metric;
}

}  // namespace

std::string text_of_metric(const Metric& metric, double value) {
  return metric.name + " " + (metric.kind->is_share ? percent(value, 2) : short_number(value));
}

std::vector<Metric> parse_metrics(const std::string& line) {
  if (line.empty()) return {};
  const Nested all = parse_nested(line);
  check(all.kind == Nested::Kind::section || (all.is_text() && all.text.empty()),
        "metrics should be {NAME: [OUTPUT, TARGET], ..}, are '", line, "'");
  std::vector<Metric> metrics;
  for (const auto& [name, value] : all.fields) metrics.push_back(metric_of(name, value));
  return metrics;
}

}  // namespace lockstep
