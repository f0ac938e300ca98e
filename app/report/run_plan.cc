// SPDX-License-Identifier: Apache-2.0
#include "app/report/run_plan.h"

#include <algorithm>
#include <sstream>

#include "app/format.h"
#include "app/html.h"
#include "app/pages/memory_need.h"
#include "app/pages/plan_page.h"
#include "app/pages/plan_picture.h"
#include "graph/printable.h"
#include "runtime/plan/step_phases.h"

namespace lockstep {
namespace {

constexpr std::size_t kMostRanksShown = 32;

double milliseconds_of(const TraceSummary::Rank& rank, const std::string& kind) {
  for (const auto& [name, value] : rank.milliseconds)
    if (name == kind) return value;
  return 0;
}

// Ranks that exchange gradients take the same time for a step; their own work tells them apart.
double own_work(const TraceSummary::Rank& rank) {
  return milliseconds_of(rank, "step") - milliseconds_of(rank, "wait");
}

std::string in_ms(double milliseconds) { return short_number(milliseconds) + " ms"; }

}  // namespace

std::string section_of(const Plan& plan, const TrainingModel& model, const std::string& folder) {
  PlanPage page;
  page.timeline = place_steps(plan, predicted_seconds(plan, usual_rates(plan)));
  page.phases = phases_of(plan, model);
  page.memory = memory_of_run(plan);
  const std::string command = join("lockstep plan ", shell_word(folder + "/config.yaml"),
                                   " --format html -o ", shell_word(folder + "/plan.html"));
  std::string text = "<h2>Plan</h2>\n";
  for (const std::string& sentence : sentences_of(plan, page))
    text += "<p>" + escaped(sentence) + "</p>\n";
  text += "<figure class=\"chart\">" + picture_of(plan, page.timeline, page.phases) +
          "</figure>\n<p>Every step, its waits and the values in memory: <code>" +
          escaped(printable(command)) + "</code></p>\n";
  return text;
}

TraceSummary summary_of(const std::vector<RankTrace>& ranks, const std::string& file,
                        TracedSteps steps) {
  TraceSummary summary{file, steps, {}};
  for (const RankTrace& rank : ranks) summary.ranks.push_back({rank.rank, rank.host, rank.summary});
  return summary;
}

std::string section_of(const TraceSummary& summary) {
  std::ostringstream out;
  out << "<h2>Last trace</h2>\n<p>Iterations " << summary.steps.first << " to "
      << summary.steps.last << ", on the replica of each rank that waits least; "
      << escaped(printable(summary.file)) << " has every operator.";
  const auto slowest = std::ranges::max_element(summary.ranks, {}, own_work);
  if (summary.ranks.size() > 1)
    out << " The slowest rank is " << slowest->rank << ", with " << in_ms(own_work(*slowest))
        << " of work in a step, without waits.";
  out << "</p>\n<div class=\"wide\"><table class=\"scores\"><tr><th>rank</th>";
  std::vector<std::string> kinds;
  for (const TraceSummary::Rank& rank : summary.ranks)
    for (const auto& [kind, value] : rank.milliseconds)
      if (std::ranges::find(kinds, kind) == kinds.end()) kinds.push_back(kind);
  for (const std::string& kind : kinds) out << "<th>" << escaped(kind) << "</th>";
  out << "</tr>\n";
  for (std::size_t i = 0; i < std::min(summary.ranks.size(), kMostRanksShown); ++i) {
    const TraceSummary::Rank& rank = summary.ranks[i];
    out << "<tr><th>" << rank.rank
        << (summary.ranks.size() > 1 ? " on " + escaped(printable(rank.host)) : "") << "</th>";
    for (const std::string& kind : kinds)
      out << "<td>" << in_ms(milliseconds_of(rank, kind)) << "</td>";
    out << "</tr>\n";
  }
  out << "</table></div>\n";
  return out.str();
}

}  // namespace lockstep
