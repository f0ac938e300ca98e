// report.html: a run on one self-contained page.
#pragma once

#include <string>
#include <vector>

#include "tools/record/metrics.h"
#include "tools/report/html.h"

namespace lockstep {

struct Report {
  std::string title;
  std::string state;  // running, finished, or the reason why it ended
  bool failed = false;
  double progress = 1;  // share of all iterations
  int refresh = 0;      // seconds between reloads by a browser; 0: none
  NamedTexts facts;     // shown on top
  std::vector<MetricRow> metrics;
  std::string tested;   // HTML: see classes.h
  NamedTexts settings;  // keys with values other than the defaults
  NamedTexts about;
};

std::string html_of(const Report& report);

}  // namespace lockstep
