// metrics.jsonl: one JSON object a line, appended while training runs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tools/train/appended_file.h"

namespace lockstep {

using MetricRow = std::vector<std::pair<std::string, double>>;  // "iter" first

class MetricsFile {
 public:
  // Keeps the rows of an earlier run up to iteration `first`; 0 starts anew.
  MetricsFile(const std::string& path, int64_t first);
  // A test that an earlier session wrote down is not written again: a run that ended behind its
  // last checkpoint tests once more.
  void append(const MetricRow& row);
  void flush() { file_->append(""); }
  // Why rows wait, or "".
  const std::string& trouble() const { return file_->trouble(); }

 private:
  std::unique_ptr<AppendedFile> file_;
  double tested_ = 0;  // the last test of an earlier session
};

// Rows that are damaged (a line cut by a crash) are left out.
std::vector<MetricRow> read_metrics(const std::string& path);
// NaN when the row has no such entry.
double value_of(const MetricRow& row, const std::string& name);

}  // namespace lockstep
