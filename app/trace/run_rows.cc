// SPDX-License-Identifier: Apache-2.0
#include "app/trace/run_rows.h"

#include <algorithm>

#include "app/format.h"
#include "app/trace/run_facts.h"
#include "graph/listed.h"
#include "graph/printable.h"
#include "lockstep/error.h"
#include "runtime/plan/makers.h"
#include "runtime/plan/step_phases.h"

namespace lockstep {
namespace {

constexpr std::size_t kMostListed = 4;  // awaited steps in a text

TraceKind kind_of_phase(Phase phase) { return static_cast<TraceKind>(phase); }
static_assert(static_cast<int>(TraceKind::forward) == static_cast<int>(Phase::forward) &&
              static_cast<int>(TraceKind::update) == static_cast<int>(Phase::update));

std::string name_of_run(const RunSpans& run) {
  const bool trains = run.plan->name == run.model->step.name();
  return trains ? name_of_training_run(run.step) : run.plan->name;
}

}  // namespace

int RunRows::label(TraceLabel label) {
  trace_.labels.push_back(std::move(label));
  return static_cast<int>(trace_.labels.size()) - 1;
}

int RunRows::row_named(const std::string& name) {
  for (std::size_t i = 0; i < trace_.rows.size(); ++i)
    if (trace_.rows[i].name == name) return static_cast<int>(i);
  trace_.rows.push_back({name});
  return static_cast<int>(trace_.rows.size()) - 1;
}

TracePlace RunRows::add_slice(int row, int label, int64_t begins, int64_t ends) {
  std::vector<TraceSlice>& slices = trace_.rows[row].slices;
  slices.push_back({label, begins, ends});
  return {row, static_cast<int>(slices.size()) - 1};
}

void RunRows::add_wait(int row, const std::string& reason, int64_t begins, int64_t ends) {
  if (ends - begins < kShortestWait) return;
  auto [found, is_new] = known_labels_.emplace("wait " + reason, 0);
  if (is_new) found->second = label({"wait", TraceKind::wait, {{"for", reason}}});
  add_slice(row, found->second, begins, ends);
}

const RunRows::PlanFacts& RunRows::facts_of(const RunSpans& run) {
  const Plan& plan = *run.plan;
  const auto [found, is_new] = plans_.try_emplace(&plan);
  PlanFacts& facts = found->second;
  if (!is_new) return facts;
  facts.plan = run.plan;
  const std::vector<Phase> phases = phases_of(plan, *run.model);
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    facts.kinds.push_back(kind_of_phase(phases[i]));
    facts.labels.push_back(
        label({plan.steps[i].name, facts.kinds[i], lockstep::facts_of(plan, plan.steps[i])}));
  }
  const std::vector<std::vector<int>> makers = makers_of_steps(plan);
  for (std::size_t user = 0; user < makers.size(); ++user)
    for (const int maker : makers[user])
      if (phases[user] == Phase::reduce || phases[maker] == Phase::reduce)
        facts.arrows.emplace_back(maker, static_cast<int>(user));
  for (const Worker& worker : plan.workers) facts.rows.push_back(row_named(text_of(worker)));
  return facts;
}

std::string RunRows::reason_of_wait(const RunSpans& run, const PlanStep& step) const {
  const Plan& plan = *run.plan;
  if (step.waits.empty())
    return run.device_error > 0 ? "the host, which launches the kernels"
                                : "a processor, which ran something else";
  std::vector<std::string> awaited;
  for (const Wait& wait : step.waits) {
    const Worker& worker = plan.workers[wait.worker];
    awaited.push_back(join(plan.steps[worker.steps[wait.step]].name, " on ", text_of(worker)));
  }
  return first_listed(std::move(awaited), kMostListed);
}

// Consecutive steps of one phase share a slice with the name of the phase: viewers colour slices
// by name.
void RunRows::add_worker(const RunSpans& run, const PlanFacts& facts, std::size_t worker,
                         std::vector<TracePlace>& places) {
  const std::vector<int>& steps = run.plan->workers[worker].steps;
  if (steps.empty()) return;
  const int row = facts.rows[worker];
  // The device's clock is known up to an error, so a time may be outside the run.
  const auto inside = [&](int64_t at) { return std::clamp(at, run.begins, run.ends); };
  const auto known = [&](const std::string& name, TraceKind kind) {
    auto [found, is_new] = known_labels_.emplace(name, 0);
    if (is_new) found->second = label({name, kind});
    return found->second;
  };
  add_slice(row, known(name_of_run(run), TraceKind::step), run.begins, run.ends);
  const int64_t turns = inside(run.steps[steps.front()].waits);
  if (turns - run.begins >= kShortestWait)
    add_slice(row, known("feeds", TraceKind::data), run.begins, turns);
  for (std::size_t i = 0; i < steps.size();) {
    const TraceKind kind = facts.kinds[steps[i]];
    std::size_t end = i;
    while (end < steps.size() && facts.kinds[steps[end]] == kind) ++end;
    add_slice(row, known(std::string(info_of(kind).name), kind), inside(run.steps[steps[i]].waits),
              inside(run.steps[steps[end - 1]].ends));
    for (; i < end; ++i) {
      const int number = steps[i];
      const StepSpan& span = run.steps[number];
      const int64_t begins = inside(span.begins);
      if (span.begins - span.waits >= kShortestWait)
        add_wait(row, reason_of_wait(run, run.plan->steps[number]), inside(span.waits), begins);
      places[number] = add_slice(row, facts.labels[number], begins, inside(span.ends));
    }
  }
  add_wait(row, "the end of the run on all workers", inside(run.steps[steps.back()].ends),
           run.ends);
}

// Messages are exchanged by one worker, in steps that do not overlap.
TracePlace RunRows::step_at(const RunSpans& run, const std::vector<TracePlace>& places,
                            int64_t at) const {
  for (const Worker& worker : run.plan->workers) {
    if (!worker.communicates()) continue;
    const auto after = std::ranges::upper_bound(worker.steps, at, {},
                                                [&](int step) { return run.steps[step].begins; });
    if (after == worker.steps.begin()) continue;
    const int step = *std::prev(after);
    if (at <= run.steps[step].ends) return places[step];
  }
  return {};
}

void RunRows::add_messages(const RunSpans& run, const std::vector<TracePlace>& places) {
  for (const MessageSpan& message : run.messages) {
    const TracePlace step = step_at(run, places, message.waits);
    if (!step) continue;
    TracePlace place = message.sends ? step_at(run, places, message.starts) : step;
    if (message.ends - message.waits >= kShortestWait) {
      const std::string reason =
          join(message.sends ? "a message to rank " : "a message from rank ", message.peer);
      add_wait(step.row, reason, message.waits, message.ends);
      if (!message.sends)
        place = {step.row, static_cast<int>(trace_.rows[step.row].slices.size()) - 1};
    }
    if (place)
      trace_.messages.push_back({message.sends, message.peer, message.number, message.turn, place,
                                 message.sends ? message.starts : message.ends});
  }
}

void RunRows::count(const RunSpans& run, const PlanFacts& facts) {
  if (run.plan->name != run.model->step.name()) return;
  ++training_steps_;
  seconds_ += static_cast<double>(run.ends - run.begins) * 1e-9;
  for (std::size_t worker = 0; worker < run.plan->workers.size(); ++worker) {
    if (run.plan->workers[worker].communicates()) continue;
    std::map<TraceKind, double>& seconds = by_row_[facts.rows[worker]];
    int64_t busy = 0;
    for (const int step : run.plan->workers[worker].steps) {
      const int64_t time = run.steps[step].ends - run.steps[step].begins;
      seconds[facts.kinds[step]] += static_cast<double>(time) * 1e-9;
      busy += time;
    }
    seconds[TraceKind::wait] += static_cast<double>(run.ends - run.begins - busy) * 1e-9;
  }
}

void RunRows::add(const RunSpans& run) {
  const PlanFacts& facts = facts_of(run);
  std::vector<TracePlace> places(run.plan->steps.size());
  for (std::size_t worker = 0; worker < run.plan->workers.size(); ++worker)
    add_worker(run, facts, worker, places);
  for (const auto& [from, to] : facts.arrows) trace_.arrows.push_back({places[from], places[to]});
  add_messages(run, places);
  count(run, facts);
  trace_.device_error = std::max(trace_.device_error, run.device_error);
  trace_.is_unrecorded = trace_.is_unrecorded || run.is_unrecorded;
}

std::vector<std::pair<std::string, double>> RunRows::summary() const {
  if (training_steps_ == 0 || by_row_.empty()) return {};
  const auto waits = [](const auto& row) {
    const auto found = row.second.find(TraceKind::wait);
    return found == row.second.end() ? 0 : found->second;
  };
  const double each = 1e3 / training_steps_;
  std::vector<std::pair<std::string, double>> numbers{{"step", seconds_ * each}};
  const auto busiest = std::ranges::min_element(by_row_, {}, waits);
  for (const auto& [kind, seconds] : busiest->second)
    numbers.emplace_back(info_of(kind).name, seconds * each);
  return numbers;
}

}  // namespace lockstep
