// SPDX-License-Identifier: Apache-2.0
// metrics.jsonl: one JSON object per line, appended during training.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "app/record/appended_file.h"

namespace lockstep {

using MetricRow = std::vector<std::pair<std::string, double>>;  // "iter" first

class MetricsFile {
 public:
  // Keeps an earlier session's rows up to iteration `first`; 0 starts an empty file.
  MetricsFile(const std::string& path, int64_t first);
  // Skips a test that an earlier session wrote: a run that ended after its last checkpoint repeats
  // the test.
  void append(const MetricRow& row);
  void flush() { file_->append(""); }
  // The reason why rows are waiting, or "".
  const std::string& trouble() const { return file_->trouble(); }

 private:
  std::unique_ptr<AppendedFile> file_;
  double tested_ = 0;  // the last test of an earlier session
};

// Skips damaged rows (a line cut by a crash).
std::vector<MetricRow> read_metrics(const std::string& path);
// NaN if the row lacks the entry.
double value_of(const MetricRow& row, const std::string& name);

}  // namespace lockstep
