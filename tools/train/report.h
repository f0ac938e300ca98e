// report.html: what a run did, on one page that needs no other file.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tools/train/metrics.h"

namespace lockstep {

// A held-out example with what the network says of it.
struct SamplePicture {
  int height = 0;
  int width = 0;
  std::vector<uint8_t> rgb;
  std::string label;
  std::string guess;
  float confidence = 0;  // in the guess
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
