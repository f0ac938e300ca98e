// report.html: what a run did, on one page that needs no other file.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tools/train/metrics.h"

namespace lockstep {

// A held-out example with what the network says of it.
struct SamplePicture {
  int height = 0;
  int width = 0;
  std::vector<float> grey;  // 0 to 1
  int64_t label = 0;
  int64_t guess = 0;
};

struct Report {
  std::string title;
  std::vector<std::pair<std::string, std::string>> facts;   // shown on top
  std::vector<std::pair<std::string, std::string>> config;  // every key
  std::vector<MetricRow> metrics;
  std::vector<SamplePicture> samples;
  std::vector<std::vector<int64_t>> confusion;  // [label][guess], counts
};

std::string html_of(const Report& report);

}  // namespace lockstep
