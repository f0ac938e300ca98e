// SPDX-License-Identifier: Apache-2.0
#include "app/pages/node_times.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <vector>

#include "graph/printable.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

using Track = std::pair<int64_t, int64_t>;  // process, row

struct StepSlice {
  double begins, ends;  // microseconds
  bool is_planned;      // of the wanted program
};

class NodeTimesReader {
 public:
  NodeTimesReader(const std::string& file, RunProgram program)
      : file_(printable(shortened(file))), program_(program) {}

  NodeTimes read(const std::string& text) {
    const auto trace = nlohmann::json::parse(text, nullptr, false);
    check(trace.is_object() && trace.contains("traceEvents") && trace["traceEvents"].is_array(),
          file_,
          ": no trace: a JSON object with 'traceEvents' was expected; `--trace` of train, "
          "step and bench train-step writes one");
    for (const auto& event : trace["traceEvents"]) take_step(event);
    check(!begins_.empty(), file_, ": the trace has no whole ",
          program_ == RunProgram::training ? "training step" : "prediction",
          ", of which the graph is; trace more steps with --trace-steps");
    for (auto& [track, steps] : steps_) std::ranges::sort(steps, {}, &StepSlice::begins);
    for (const auto& event : trace["traceEvents"]) take_node(event);
    NodeTimes times;
    for (auto& [name, by_step] : sums_) {
      std::vector<double> sums;
      for (const auto& [step, sum] : by_step) sums.push_back(sum);
      const auto middle = sums.begin() + static_cast<std::ptrdiff_t>(sums.size() / 2);
      std::ranges::nth_element(sums, middle);
      times.micros[name] = *middle;
    }
    for (const auto& [process, begins] : begins_)
      times.steps = std::max(times.steps, static_cast<int>(begins.size()));
    return times;
  }

 private:
  static double number(const nlohmann::json& event, const char* key) {
    const auto found = event.find(key);
    return found != event.end() && found->is_number() ? found->get<double>() : 0;
  }
  static std::string word(const nlohmann::json& event, const char* key) {
    const auto found = event.find(key);
    return found != event.end() && found->is_string() ? found->get<std::string>() : "";
  }
  static bool is_slice(const nlohmann::json& event) {
    return event.is_object() && word(event, "ph") == "X";
  }
  static Track track_of(const nlohmann::json& event) {
    const auto id = [&](const char* key) {
      return static_cast<int64_t>(std::clamp(number(event, key), -1e9, 1e9));
    };
    return {id("pid"), id("tid")};
  }

  void take_step(const nlohmann::json& event) {
    if (!is_slice(event) || word(event, "cat") != "step") return;
    const double begins = number(event, "ts");
    const Track track = track_of(event);
    const bool is_planned = program_of_run(word(event, "name")) == program_;
    if (is_planned) begins_[track.first].insert(begins);
    steps_[track].push_back({begins, begins + number(event, "dur"), is_planned});
  }

  // The slices of nodes have the fact `operator`.
  void take_node(const nlohmann::json& event) {
    if (!is_slice(event)) return;
    const auto facts = event.find("args");
    if (facts == event.end() || !facts->is_object() || !facts->contains("operator")) return;
    const Track track = track_of(event);
    const auto steps = steps_.find(track);
    if (steps == steps_.end()) return;
    const double begins = number(event, "ts");
    const auto after = std::ranges::upper_bound(steps->second, begins, {}, &StepSlice::begins);
    if (after == steps->second.begin()) return;
    const StepSlice& step = *std::prev(after);
    if (begins > step.ends || !step.is_planned) return;
    sums_[word(event, "name")][{track.first, step.begins}] += number(event, "dur");
  }

  const std::string file_;
  const RunProgram program_;
  std::map<Track, std::vector<StepSlice>> steps_;  // runs of all programs
  std::map<int64_t, std::set<double>> begins_;     // by process, of the wanted program's runs
  // By node, process and begin of the step.
  std::map<std::string, std::map<std::pair<int64_t, double>, double>> sums_;
};

}  // namespace

NodeTimes node_times(const std::string& text, const std::string& name, RunProgram program) {
  return NodeTimesReader(name, program).read(text);
}

}  // namespace lockstep
