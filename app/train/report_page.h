// SPDX-License-Identifier: Apache-2.0
// A run's report.html, rewritten during the run.
#pragma once

#include <chrono>
#include <string>

#include "app/report/report.h"
#include "app/report/run_plan.h"
#include "app/train/task.h"
#include "app/train/training_log.h"
#include "app/train/training_run.h"

namespace lockstep {
struct ReportPageOptions {
  std::string folder;  // of the run; its metrics.jsonl has the curves
  int64_t first = 0;   // the run continues from this iteration
  int processes = 1;
};

class ReportPage {
 public:
  // `task` and `log` must outlive the page.
  ReportPage(Task& task, TrainingRun& run, const TrainingLog& log,
             const ReportPageOptions& options);

  // Does nothing if writing would take more than a small fraction of the time. A full disk does not
  // end the run.
  void refresh();
  void tested(const HeldOutTest& result);
  void traced(const TraceSummary& trace);
  // The final version; browsers stop reloading. `early` is the reason of an early end, or "".
  void finished(const std::string& early);
  void interrupted(const std::string& why);
  void failed(const std::string& why);

 private:
  void write();
  void end(const std::string& state);
  void gather(const std::vector<MetricRow>& rows);
  void describe_plan();

  Task& task_;
  Session& session_;
  const TrainingLog& log_;
  ReportPageOptions options_;
  Report report_;
  NamedTexts about_;
  std::string parameters_, arithmetic_;
  std::string plan_, trace_;  // sections; "": not known
  std::string state_;         // "": still running
  std::chrono::steady_clock::time_point written_;
  double cost_ = 0;  // seconds of the last writing
};

}  // namespace lockstep
