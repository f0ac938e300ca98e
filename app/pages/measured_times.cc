// SPDX-License-Identifier: Apache-2.0
#include "app/pages/measured_times.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "graph/printable.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

// The facts of a slice that tell steps with one name apart: kernels may differ between machines.
constexpr const char* kCompared[] = {"operator", "part", "results"};
constexpr std::size_t kFacts = std::size(kCompared);
using ComparedFacts = std::array<std::string, kFacts>;

struct TracedRun {
  std::string name;
  double begins, ends;  // seconds
  double until;         // the begin of the next run, of any program
};
struct TracedStep {
  std::string name;
  double begins, ends;
  ComparedFacts facts;
};
// The row of a worker: runs, and the steps inside them.
struct TracedRow {
  std::vector<TracedRun> runs;
  std::vector<TracedStep> steps;
};

// The first difference between a run and the plan.
struct Difference {
  std::size_t agrees = 0;  // steps before the difference, of all workers
  std::string text;
};

class MeasuredRuns {
 public:
  MeasuredRuns(const Plan& plan, RunProgram program, const std::string& text,
               const std::string& name)
      : plan_(plan), program_(program), file_(printable(name)) {
    for (const PlanStep& step : plan.steps) facts_.push_back(compared_facts(step));
    read(text);
  }

  MeasuredTimes times() const {
    std::vector<std::pair<const TracedRun*, PlanTimeline>> same;
    std::optional<Difference> nearest;
    int others = 0;
    for (const TracedRun& run : row_of(first_worker()).runs) {
      if (program_of_run(run.name) != program_) continue;
      PlanTimeline timeline;
      if (auto difference = place(run, timeline)) {
        ++others;
        if (!nearest || difference->agrees > nearest->agrees) nearest = std::move(difference);
      } else {
        same.emplace_back(&run, std::move(timeline));
      }
    }
    check(!same.empty() || nearest, file_, ": the trace has no whole run of the ",
          program_ == RunProgram::training ? "training step" : "prediction",
          ", which the plan is of", source());
    if (same.empty())
      fail(file_, ": is the trace of another step: ", nearest->text, source(),
           "; plan with the same model, devices, batch and keys");
    std::ranges::stable_sort(same, {}, [](const auto& one) { return one.second.seconds; });
    auto& [run, timeline] = same[(same.size() - 1) / 2];
    return {std::move(timeline), run->name, static_cast<int>(same.size()), others};
  }

 private:
  void read(const std::string& text) {
    const auto trace = nlohmann::json::parse(text, nullptr, false);
    check(trace.is_object() && trace.contains("traceEvents") && trace["traceEvents"].is_array(),
          file_, ": is no trace by --trace: the JSON object with 'traceEvents' is missing");
    if (const auto other = trace.find("otherData"); other != trace.end() && other->is_object()) {
      command_ = text_in(*other, "command");
      if (const auto clocks = other->find("clocks"); clocks != other->end() && clocks->is_array())
        check_processes(clocks->size());
    }
    std::map<double, std::string> names;  // of rows
    for (const auto& event : trace["traceEvents"]) take_name(event, names);
    check_processes(processes_.size());
    for (const auto& event : trace["traceEvents"]) take_slice(event, names);
    std::set<double> begins;
    for (const auto& [name, row] : rows_)
      for (const TracedRun& run : row.runs) begins.insert(run.begins);
    for (auto& [name, row] : rows_) {
      // Steps of no length stand before the step that begins at the same time.
      std::ranges::stable_sort(
          row.steps, {}, [](const TracedStep& step) { return std::pair(step.begins, step.ends); });
      for (TracedRun& run : row.runs)
        if (const auto next = begins.upper_bound(run.begins); next != begins.end())
          run.until = *next;
    }
  }

  void check_processes(std::size_t count) const {
    check(count <= 1, file_, ": is a trace of ", count,
          " processes, but a plan is of one process: its steps do not wait for messages of others",
          source(), "; trace a run of one process");
  }

  static std::string text_in(const nlohmann::json& object, const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>() : "";
  }
  static double number_in(const nlohmann::json& object, const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_number() ? found->get<double>() : 0;
  }

  // Notes the processes of all events, too.
  void take_name(const nlohmann::json& event, std::map<double, std::string>& names) {
    if (!event.is_object()) return;
    if (const std::string phase = text_in(event, "ph"); phase == "M" || phase == "X")
      processes_.insert(number_in(event, "pid"));
    if (text_in(event, "ph") != "M" || text_in(event, "name") != "thread_name") return;
    if (const auto args = event.find("args"); args != event.end() && args->is_object())
      names[number_in(event, "tid")] = text_in(*args, "name");
  }

  // Steps are the slices that name their operator; a run is a slice of the kind `step`.
  void take_slice(const nlohmann::json& event, const std::map<double, std::string>& names) {
    if (!event.is_object() || text_in(event, "ph") != "X") return;
    const auto row = names.find(number_in(event, "tid"));
    if (row == names.end()) return;
    const double begins = number_in(event, "ts") * 1e-6;
    const double ends = begins + number_in(event, "dur") * 1e-6;
    const auto args = event.find("args");
    if (args != event.end() && args->is_object() && args->contains("operator")) {
      TracedStep step{text_in(event, "name"), begins, ends, {}};
      for (std::size_t i = 0; i < kFacts; ++i) step.facts[i] = text_in(*args, kCompared[i]);
      rows_[row->second].steps.push_back(std::move(step));
    } else if (text_in(event, "cat") == "step") {
      rows_[row->second].runs.push_back(
          {text_in(event, "name"), begins, ends, std::numeric_limits<double>::infinity()});
    }
  }

  std::string source() const {
    return command_.empty() ? "" : join("; it was written by: ", printable(shortened(command_)));
  }

  int first_worker() const {
    for (std::size_t w = 0; w < plan_.workers.size(); ++w)
      if (!plan_.workers[w].steps.empty()) return static_cast<int>(w);
    fail("internal: a plan without steps has no times");
  }

  const TracedRow& row_of(int worker) const {
    const std::string name = text_of(plan_.workers[worker]);
    const auto found = rows_.find(name);
    if (found == rows_.end())
      fail(file_, ": is the trace of another step: it has no row '", name, "', which the plan has",
           source());
    return found->second;
  }

  ComparedFacts compared_facts(const PlanStep& step) const {
    ComparedFacts compared;
    for (auto& [name, text] : facts_of(plan_, step))
      for (std::size_t i = 0; i < kFacts; ++i)
        if (name == kCompared[i]) compared[i] = text;
    return compared;
  }

  // A text as the file has it: bytes that are not UTF-8 became U+FFFD.
  static bool same_text(const std::string& planned, const std::string& traced) {
    if (planned == traced) return true;
    using nlohmann::json;
    return json::parse(json(planned).dump(-1, ' ', false, json::error_handler_t::replace)) ==
           json(traced);
  }

  std::optional<Difference> place(const TracedRun& run, PlanTimeline& timeline) const {
    timeline.steps.resize(plan_.steps.size());
    timeline.seconds = run.ends - run.begins;
    std::size_t agrees = 0;
    for (std::size_t w = 0; w < plan_.workers.size(); ++w) {
      if (plan_.workers[w].steps.empty()) continue;
      std::string text = place_worker(static_cast<int>(w), run, timeline, agrees);
      if (!text.empty()) return Difference{agrees, std::move(text)};
    }
    if (std::string text = other_row(run); !text.empty()) return Difference{agrees, text};
    note_awaited(timeline);
    return std::nullopt;
  }

  // Returns the first difference, or "".
  std::string place_worker(int worker, const TracedRun& run, PlanTimeline& timeline,
                           std::size_t& agrees) const {
    const std::vector<TracedStep>& traced = row_of(worker).steps;
    const std::vector<int>& steps = plan_.workers[worker].steps;
    const std::string on = join(" of the plan on ", text_of(plan_.workers[worker]));
    auto at = std::ranges::lower_bound(traced, run.begins, {}, &TracedStep::begins);
    const auto is_over = [&] { return at == traced.end() || at->begins >= run.until; };
    for (std::size_t i = 0; i < steps.size(); ++i, ++at, ++agrees) {
      const PlanStep& step = plan_.steps[steps[i]];
      const std::string is = join("step ", i, on, " is '", shown(step.name), "'");
      if (is_over()) return is + ", the trace has no more steps";
      if (!same_text(step.name, at->name))
        return join(is, ", the trace has '", shown(at->name), "'");
      for (std::size_t fact = 0; fact < kFacts; ++fact)
        if (const std::string& planned = facts_[steps[i]][fact];
            !same_text(planned, at->facts[fact]))
          return join(is, " with the ", kCompared[fact], " '", shown(planned), "', in the trace '",
                      shown(at->facts[fact]), "'");
      timeline.steps[steps[i]] = {at->begins - run.begins, at->ends - run.begins};
    }
    if (is_over()) return "";
    return join("the plan has ", steps.size(), " steps on ", text_of(plan_.workers[worker]),
                ", the trace goes on with '", shown(at->name), "'");
  }

  // A row with steps of the run that is no worker of the plan; "" if there is none.
  std::string other_row(const TracedRun& run) const {
    std::set<std::string> planned;
    for (const Worker& worker : plan_.workers)
      if (!worker.steps.empty()) planned.insert(text_of(worker));
    for (const auto& [name, row] : rows_) {
      if (planned.contains(name)) continue;
      const auto at = std::ranges::lower_bound(row.steps, run.begins, {}, &TracedStep::begins);
      if (at != row.steps.end() && at->begins < run.until)
        return join("the trace has steps on '", shown(name), "', which the plan has not");
    }
    return "";
  }

  static std::string shown(const std::string& text) { return printable(shortened(text)); }

  // The awaited step that ended last, if the worker was free before.
  void note_awaited(PlanTimeline& timeline) const {
    std::vector<double> free(plan_.workers.size(), 0);
    for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
      const PlanStep& step = plan_.steps[i];
      double latest = free[step.worker];
      for (const Wait& wait : step.waits) {
        const int awaited = awaited_step(plan_, wait);
        if (timeline.steps[awaited].ends <= latest) continue;
        latest = timeline.steps[awaited].ends;
        timeline.steps[i].awaited = awaited;
      }
      free[step.worker] = timeline.steps[i].ends;
    }
  }

  const Plan& plan_;
  const RunProgram program_;
  const std::string file_;
  std::vector<ComparedFacts> facts_;  // by step of the plan
  std::string command_;
  std::set<double> processes_;
  std::map<std::string, TracedRow> rows_;
};

}  // namespace

MeasuredTimes measured_times(const Plan& plan, RunProgram program, const std::string& text,
                             const std::string& name) {
  return MeasuredRuns(plan, program, text, name).times();
}

}  // namespace lockstep
