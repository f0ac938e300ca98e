// SPDX-License-Identifier: Apache-2.0
#include "app/report/run_comparison.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <sstream>

#include "app/format.h"
#include "app/report/chart.h"
#include "app/report/run_facts.h"
#include "app/report/style.h"
#include "graph/printable.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

constexpr std::size_t kMostCharts = 40;
constexpr const char* kHues[] = {"blue", "orange", "green", "purple"};
constexpr const char* kDashes[] = {"", " dashed", " dotted"};
static_assert(kMostRuns == std::size(kHues) * std::size(kDashes));

std::string line_style(std::size_t run) {
  return std::string(kHues[run % std::size(kHues)]) + kDashes[run / std::size(kHues)];
}

std::string shown(const std::string& text) { return escaped(printable(text)); }

// A name from metrics.jsonl for people: "test_accuracy" is "test accuracy".
std::string in_words(std::string name) {
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

bool is_shown_as_curve(const std::string& metric) { return metric != "eta" && metric != "queue"; }

class ComparisonPage {
 public:
  explicit ComparisonPage(const RunComparison& comparison) : comparison_(comparison) {
    for (const ComparedRun& run : comparison.runs) facts_.push_back(facts_of(run.metrics));
    std::set<std::string> known;
    for (const ComparedRun& run : comparison.runs)
      for (const std::string& name : metrics_in(run.metrics))
        if (is_shown_as_curve(name) && known.insert(name).second) metrics_.push_back(name);
  }

  std::string run() {
    const std::string title = count_of(std::ssize(comparison_.runs), "run", "runs compared");
    out_ << "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
            "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><title>"
         << title << "</title><style>" << kReportStyle << "</style></head><body><main>\n<h1>"
         << title << "</h1>\n";
    summary();
    times();
    charts();
    settings();
    out_ << "<h2>This page</h2>\n"
         << table_of(comparison_.about) << "</main><script>" << kReportScript
         << "</script></body></html>\n";
    return out_.str();
  }

 private:
  void head(const char* first) {
    out_ << "<tr><th>" << first << "</th>";
    for (std::size_t run = 0; run < comparison_.runs.size(); ++run)
      out_ << "<th><span class=\"legend\"><i class=\"" << line_style(run) << "\"></i></span>"
           << shown(comparison_.runs[run].name) << "</th>";
    out_ << "</tr>\n";
  }

  // A row with a cell for each run.
  template <class Cell>
  void row(const std::string& name, const Cell& cell) {
    out_ << "<tr><th>" << shown(name) << "</th>";
    for (std::size_t run = 0; run < comparison_.runs.size(); ++run)
      out_ << "<td>" << cell(run) << "</td>";
    out_ << "</tr>\n";
  }

  static std::string number(double value) {
    return std::isfinite(value) ? short_number(value) : std::string("-");
  }

  void summary() {
    out_ << "<div class=\"wide\"><table class=\"scores compared\">\n";
    head("");
    row("iterations", [&](std::size_t run) {
      const std::string& wanted = comparison_.runs[run].iterations;
      return short_number(facts_[run].iterations) + (wanted.empty() ? "" : " of " + shown(wanted));
    });
    for (const std::string& metric : metrics_) {
      if (metric != "loss" && !metric.starts_with("test_")) continue;
      const bool is_loss = metric.ends_with("loss");
      row("last " + in_words(metric), [&](std::size_t run) {
        return number(range_of(comparison_.runs[run].metrics, metric).last);
      });
      row((is_loss ? "least " : "largest ") + in_words(metric), [&](std::size_t run) {
        const MetricRange range = range_of(comparison_.runs[run].metrics, metric);
        return number(is_loss ? range.least : range.most);
      });
    }
    row("training time", [&](std::size_t run) { return clock_text(facts_[run].seconds); });
    row("speed", [&](std::size_t run) {
      const RunFacts& facts = facts_[run];
      return facts.unit.empty()
                 ? std::string("-")
                 : short_number(std::round(facts.speed)) + " " + shown(facts.unit) + " per second";
    });
    row("peak memory", [&](std::size_t run) {
      return facts_[run].memory_mib > 0 ? short_number(std::round(facts_[run].memory_mib)) + " MiB"
                                        : std::string("-");
    });
    out_ << "</table></div>\n";
  }

  // A bar for each kind of time, as long as its share of the longest step.
  void times() {
    std::vector<std::string> kinds;
    double longest = 0;
    for (const RunFacts& facts : facts_) {
      double step = 0;
      for (const TimeOfKind& time : facts.times) {
        step += time.seconds;
        if (std::find(kinds.begin(), kinds.end(), time.kind) == kinds.end())
          kinds.push_back(time.kind);
      }
      longest = std::max(longest, step);
    }
    if (longest <= 0 || !std::isfinite(longest)) return;
    out_ << "<h2>Time of a step, by kind</h2>\n<div class=\"wide\"><table class=\"scores "
            "compared\">\n";
    head("milliseconds");
    for (const std::string& kind : kinds)
      row(kind == "data" ? "waiting for data" : in_words(kind), [&](std::size_t run) {
        const auto& times = facts_[run].times;
        const auto found = std::find_if(times.begin(), times.end(),
                                        [&](const auto& time) { return time.kind == kind; });
        if (found == times.end()) return std::string("-");
        return join(short_number(1000 * found->seconds), "<div class=\"bar\"><i style=\"width:",
                    fixed(100 * found->seconds / longest, 1), "%\"></i></div>");
      });
    out_ << "</table></div>\n";
  }

  void charts() {
    out_ << "<h2>Curves</h2>\n";
    if (metrics_.size() > kMostCharts)
      out_ << "<p>The first " << kMostCharts << " of " << metrics_.size() << " metrics.</p>\n";
    out_ << "<div class=\"charts\">\n";
    for (std::size_t i = 0; i < std::min(metrics_.size(), kMostCharts); ++i) {
      const std::string& metric = metrics_[i];
      Chart chart{printable(in_words(metric)), "iteration", {}, scale_of(metric)};
      for (std::size_t run = 0; run < comparison_.runs.size(); ++run) {
        Series series{printable(comparison_.runs[run].name), line_style(run), {}};
        series.dots = metric.starts_with("test_");
        for (const MetricRow& row : comparison_.runs[run].metrics)
          if (const double y = value_of(row, metric); std::isfinite(y))
            series.points.emplace_back(value_of(row, "iter"), y);
        chart.series.push_back(std::move(series));
      }
      out_ << html_of(chart);
    }
    out_ << "</div>\n";
  }

  static Scale scale_of(const std::string& metric) {
    return metric == "lr" || metric.ends_with("time") || metric.ends_with("_per_second") ||
                   metric == "memory_mib"
               ? Scale::from_zero
               : Scale::linear;
  }

  void settings() {
    out_ << "<h2>Settings that differ</h2>\n<p>" << shown(comparison_.about_settings) << "</p>\n";
    if (comparison_.settings.empty()) return;
    out_ << "<div class=\"wide settings\"><table class=\"scores compared\">\n";
    head("key");
    for (const ComparedSetting& setting : comparison_.settings)
      row(setting.key, [&](std::size_t run) { return shown(setting.values[run]); });
    out_ << "</table></div>\n";
  }

  const RunComparison& comparison_;
  std::vector<RunFacts> facts_;
  std::vector<std::string> metrics_;  // of all runs, each once
  std::ostringstream out_;
};

}  // namespace

std::string html_of(const RunComparison& comparison) {
  check(!comparison.runs.empty() && comparison.runs.size() <= kMostRuns, "a page compares 1 to ",
        kMostRuns, " runs, not ", comparison.runs.size());
  return ComparisonPage(comparison).run();
}

}  // namespace lockstep
