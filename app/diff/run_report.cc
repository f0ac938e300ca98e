// SPDX-License-Identifier: Apache-2.0
#include "app/diff/run_report.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "app/diff/diff_side.h"
#include "app/machine.h"
#include "graph/listed.h"
#include "graph/printable.h"

namespace lockstep {
namespace {

constexpr const char* kIterations = "SOLVER.MAX_ITER";
constexpr const char* kLacking = "(no such key)";

// The keys with different values, in the order of the first run that has them.
std::vector<ComparedSetting> differing(const std::vector<KeyTexts>& runs) {
  std::vector<std::map<std::string, std::string>> values;
  for (const KeyTexts& run : runs) values.emplace_back(run.begin(), run.end());
  std::vector<ComparedSetting> settings;
  std::set<std::string> known;
  for (const KeyTexts& run : runs)
    for (const auto& [key, value] : run) {
      if (!known.insert(key).second) continue;
      ComparedSetting setting{key, {}};
      for (const auto& of_run : values) {
        const auto found = of_run.find(key);
        setting.values.push_back(found == of_run.end() ? kLacking : found->second);
      }
      if (std::any_of(setting.values.begin(), setting.values.end(),
                      [&](const std::string& other) { return other != setting.values[0]; }))
        settings.push_back(std::move(setting));
    }
  return settings;
}

std::string value_of_key(const KeyTexts& settings, const std::string& key) {
  for (const auto& [known, value] : settings)
    if (known == key) return value;
  return "";
}

}  // namespace

RunComparison compared_runs(const std::vector<std::string>& folders) {
  check(folders.size() <= kMostRuns, folders.size(),
        " runs are too many for one page; name at most ", kMostRuns);
  RunComparison comparison;
  std::vector<KeyTexts> settings;
  std::vector<std::string> without;
  for (const std::string& folder : folders) {
    StoredRun run = stored_run(folder);
    check(run.results.has_value(), "'", printable(folder), "' contains no metrics.jsonl");
    std::string iterations;
    if (run.settings) {
      iterations = value_of_key(*run.settings, kIterations);
      settings.push_back(std::move(*run.settings));
    } else {
      without.push_back(folder);
    }
    comparison.runs.push_back({folder, std::move(*run.results), iterations});
  }
  if (without.empty()) {
    comparison.settings = differing(settings);
    comparison.about_settings = comparison.settings.empty()
                                    ? "All keys of the configurations have equal values."
                                    : "All other keys of the configurations have equal values.";
  } else {
    comparison.about_settings =
        "Configurations are not compared: no config.yaml in " + first_listed(without, 3) + ".";
  }
  comparison.about = {{"command", command_line()}, {"written", date_and_time()}};
  return comparison;
}

}  // namespace lockstep
