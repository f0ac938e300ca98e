// report.html: what a run did, or does, on one page that needs no other file.
#pragma once

#include <string>
#include <vector>

#include "tools/train/html.h"
#include "tools/train/metrics.h"

namespace lockstep {

struct Report {
  std::string title;
  std::string state;  // running, finished, or why it ended
  bool failed = false;
  double progress = 1;  // share of all iterations
  int refresh = 0;      // a browser asks again every so many seconds; 0: it need not
  NamedTexts facts;     // shown on top
  std::vector<MetricRow> metrics;
  std::string tested;   // HTML: see report_classes.h
  NamedTexts settings;  // keys that are not as they are by default
  NamedTexts about;
};

std::string html_of(const Report& report);

}  // namespace lockstep
