// SPDX-License-Identifier: Apache-2.0
// report.html: a run on one self-contained page.
#pragma once

#include <string>
#include <vector>

#include "app/html.h"
#include "app/record/metrics.h"
#include "app/report/chart_axis.h"

namespace lockstep {

// A line of a chart: a number of metrics.jsonl over iterations.
struct Curve {
  std::string metric, name, colour;
  bool dots = false;
};
struct CurveChart {
  std::string title;
  std::vector<Curve> curves;
  Scale scale = Scale::linear;
};

struct Report {
  std::string title;
  std::string state;  // running, finished, or the reason why it ended
  bool failed = false;
  double progress = 1;             // fraction of all iterations
  int refresh = 0;                 // seconds between reloads by a browser; 0: none
  NamedTexts facts;                // shown on top
  std::vector<CurveChart> charts;  // drawn before the charts of the rate and of speed
  std::string unit = "images";     // of the speed: NAME_per_second in the metrics
  std::vector<MetricRow> metrics;
  std::string tested;   // HTML
  std::string planned;  // HTML about the plan and the last trace
  NamedTexts settings;  // keys with values other than the defaults
  NamedTexts about;
};

std::string html_of(const Report& report);

}  // namespace lockstep
