// SPDX-License-Identifier: Apache-2.0
#include "app/train/report_page.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <sstream>

#include "app/format.h"
#include "app/machine.h"
#include "app/report/chart_axis.h"
#include "app/train/flops.h"
#include "app/version.h"
#include "graph/file.h"
#include "runtime/state/session_members.h"
#include "runtime/threads/cores.h"

namespace lockstep {
namespace {

constexpr double kShareOfTime = 0.005;  // the fraction of time for writing
constexpr double kNoScore = -std::numeric_limits<double>::infinity();
constexpr double kLeastRefresh = 2, kMostRefresh = 60;  // seconds

NamedTexts about_of(const Task& task, TrainingRun& run, const ReportPageOptions& options) {
  const Session& session = run.session();
  NamedTexts about{
      {"command", command_line()},
      {options.first > 0 ? join("resumed after iteration ", options.first) : "started",
       date_and_time()},
      {"folder", options.folder},
      {"machine", join(processor(), ", ", cpu_cores(), " cores, ", memory())},
      {"replicas",
       join(task.settings().run.devices.text,
            options.processes > 1 ? join(" in each of ", options.processes, " processes") : "",
            ", ", session.threads(), session.threads() == 1 ? " thread each" : " threads each")},
      {"seed", std::to_string(task.settings().seed)}};
  const NamedTexts examples = task.examples();
  about.insert(about.end() - 1, examples.begin(), examples.end());
  // Each line has a name and a value.
  std::istringstream version(version_text());
  for (std::string line; std::getline(version, line);) {
    const std::size_t gap = line.find("  ") == line.npos ? line.find(' ') : line.find("  ");
    about.emplace_back(line.substr(0, gap), line.substr(line.find_first_not_of(' ', gap)));
  }
  return about;
}

}  // namespace

ReportPage::ReportPage(Task& task, TrainingRun& run, const TrainingLog& log,
                       const ReportPageOptions& options)
    : task_(task), session_(run.session()), log_(log), options_(options) {
  const TrainingModel& model = run.session().model();
  report_.title = task.network() + " on " + task.data();
  report_.settings = task.changed();
  about_ = about_of(task, run, options);
  report_.charts = task.charts();
  report_.unit = task.work_unit().name;
  parameters_ = in_units(static_cast<double>(parameter_values(model)));
  if (const auto count = multiply_adds(model, task.picture()))
    arithmetic_ = in_units(2 * static_cast<double>(*count));
  refresh();
}

void ReportPage::refresh() {
  if (seconds_since(written_) < cost_ / kShareOfTime) return;
  try {
    write();
  } catch (const Error&) {
    // The next write may succeed; the last write reports its error.
  }
}

void ReportPage::tested(const HeldOutTest& result) {
  report_.tested = result.section;
  refresh();
}

void ReportPage::traced(const TraceSummary& trace) {
  trace_ = section_of(trace);
  refresh();
}

// The step is planned when it first runs. A run with pictures of several sizes has several plans;
// the page shows the first.
void ReportPage::describe_plan() {
  const auto& executors = session_.step().members().cache;
  if (plan_.empty() && !executors.empty())
    plan_ = section_of(executors.front()->plan(), session_.model(), options_.folder);
}

void ReportPage::finished(const std::string& early) {
  end(join("Finished ", date_and_time(), early.empty() ? "" : "; ", early, "."));
}
void ReportPage::interrupted(const std::string& why) { end(why); }

void ReportPage::failed(const std::string& why) {
  report_.failed = true;
  try {
    end("Ended by an error: " + why);
  } catch (const Error&) {
    // The user should see the run's own error instead.
  }
}

void ReportPage::end(const std::string& state) {
  state_ = state;
  write();
}

void ReportPage::write() {
  const auto start = std::chrono::steady_clock::now();
  gather(read_metrics(options_.folder + "/metrics.jsonl"));
  report_.about = about_;
  describe_plan();
  report_.planned = plan_ + trace_;
  if (const std::string bad = log_.bad_pictures(); !bad.empty())
    report_.about.emplace_back("pictures that cannot be read", bad);
  write_file(options_.folder + "/report.html", html_of(report_));
  written_ = std::chrono::steady_clock::now();
  cost_ = seconds_since(start);
}

// Collects progress and results from the rows.
void ReportPage::gather(const std::vector<MetricRow>& rows) {
  const TrainSettings& settings = task_.settings();
  const ScoreKind kind = task_.score_kind();
  const std::string unit = task_.work_unit().name;
  const std::string score_row = "test_" + kind.number;
  std::map<std::string, double> last;
  double images = 0, windows = 0, best = kNoScore, best_at = 0, seconds = 0, before = 0;
  for (const MetricRow& row : rows) {
    for (const auto& [name, value] : row) last[name] = value;
    if (const double rate = value_of(row, unit + "_per_second"); std::isfinite(rate)) {
      images += rate, ++windows;
      seconds += value_of(row, "time") * (value_of(row, "iter") - before);
      before = value_of(row, "iter");
    }
    if (const double score = value_of(row, score_row); score > best)
      best = score, best_at = value_of(row, "iter");
  }
  const double done = std::max(last["iter"], static_cast<double>(options_.first));
  const auto all = static_cast<double>(settings.schedule.max_iter);
  const double each = done > 0 ? seconds / done : 0;

  report_.metrics = rows;
  report_.progress = done / all;
  const bool runs = state_.empty();
  const double window = each * static_cast<double>(settings.log_iters);
  report_.refresh =
      runs ? static_cast<int>(std::ceil(std::clamp(window, kLeastRefresh, kMostRefresh))) : 0;
  report_.state = !runs      ? state_
                  : done > 0 ? join("Running: ", percent(report_.progress, 0), ", ",
                                    clock_text(each * (all - done)), " left.")
                             : "Running.";
  report_.facts.clear();
  if (best > kNoScore) {
    report_.facts.emplace_back(kind.name, task_.text_of_score(last[score_row]));
    report_.facts.emplace_back(join("best, at iteration ", best_at), task_.text_of_score(best));
    if (last.count("test_loss"))
      report_.facts.emplace_back("held-out loss", short_number(last["test_loss"]));
  }
  report_.facts.emplace_back(join("of ", short_number(all), " iterations"), short_number(done));
  report_.facts.emplace_back("training time", clock_text(seconds));
  if (windows > 0)
    report_.facts.emplace_back(unit + " per second", short_number(std::round(images / windows)));
  report_.facts.emplace_back("parameters", parameters_);
  if (!arithmetic_.empty())
    report_.facts.emplace_back(
        report_.unit == "images" ? "FLOPs per picture" : "FLOPs of one of the " + report_.unit,
        arithmetic_);
}

}  // namespace lockstep
