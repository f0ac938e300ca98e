// report.html of a run, written again and again while the run goes on.
#pragma once

#include <chrono>
#include <string>

#include "tools/train/config.h"
#include "tools/train/report.h"
#include "tools/train/training_run.h"

namespace lockstep {

struct ReportPageOptions {
  std::string network;  // its name
  int64_t first = 0;    // the run goes on from this iteration
  int processes = 1;
};

class ReportPage {
 public:
  // config.output_dir is the run's folder; its metrics.jsonl is what the curves are drawn from.
  ReportPage(const TrainConfig& config, TrainingRun& run, const ReportPageOptions& options);

  // Unless writing would take more than a small share of the time. A full disk here is no reason to
  // end a run.
  void refresh();
  void tested(const TestResult& result, int64_t iteration);
  // The last words; from now on browsers need not ask again.
  void finished();
  void interrupted(const std::string& why);
  void failed(const std::string& why);

 private:
  void write();
  void end(const std::string& state);
  void gather(const std::vector<MetricRow>& rows);

  TrainConfig config_;
  ReportPageOptions options_;
  Report report_;
  std::vector<std::string> classes_;
  std::string parameters_, arithmetic_;
  std::string state_;  // "": it runs
  std::chrono::steady_clock::time_point written_;
  double cost_ = 0;  // seconds that writing took
};

// Keys whose value is not the default one.
NamedTexts changed_settings(const TrainConfig& config);

}  // namespace lockstep
