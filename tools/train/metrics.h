// metrics.jsonl: one JSON object a line, appended while training runs.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace lockstep {

using MetricRow = std::vector<std::pair<std::string, double>>;  // "iter" first

class MetricsFile {
 public:
  // Keeps the rows of an earlier run up to iteration `first`; 0 starts anew.
  MetricsFile(const std::string& path, int64_t first);
  void append(const MetricRow& row);

 private:
  std::ofstream file_;
};

// Rows that are damaged (a line cut by a crash) are left out.
std::vector<MetricRow> read_metrics(const std::string& path);
// NaN when the row has no such entry.
double value_of(const MetricRow& row, const std::string& name);

}  // namespace lockstep
