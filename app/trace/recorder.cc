// SPDX-License-Identifier: Apache-2.0
#include "app/trace/recorder.h"

#include <unistd.h>

#include <algorithm>
#include <exception>
#include <map>
#include <utility>

#include "app/machine.h"
#include "app/trace/run_facts.h"
#include "app/trace/run_rows.h"
#include "lockstep/error.h"
#include "runtime/state/session_members.h"

namespace lockstep {
namespace {

constexpr const char* kLoop = "loop";

std::string host_name() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return name;
}

}  // namespace

TraceRecorder::TraceRecorder(Session& session, Comm* comm, RecorderOptions options)
    : session_(session),
      comm_(comm),
      options_(std::move(options)),
      most_recorded_(options_.most_recorded / static_cast<std::size_t>(comm ? comm->size() : 1)) {
  speed_ = {options_.unit + "/s", options_.unit + "/s"};
  if (comm_) first_ = compare_clocks(*comm_, [this] { return local_clock(); });
  session_.members().recorder = this;
  last_end_ = nanoseconds_now();
}

TraceRecorder::~TraceRecorder() { session_.members().recorder = nullptr; }

void TraceRecorder::begin_iteration(int64_t number) {
  iteration_ = number;
  iteration_begins_ = nanoseconds_now();
}

void TraceRecorder::end_iteration(double units) {
  const int64_t now = nanoseconds_now();
  add(join("iteration ", iteration_), TraceKind::other, iteration_begins_, now);
  memory_.values.emplace_back(now, static_cast<double>(resident_memory()) / (1 << 20));
  speed_.values.emplace_back(now, units / (static_cast<double>(now - last_end_) * 1e-9));
  last_end_ = now;
}

void TraceRecorder::add(const std::string& name, TraceKind kind, int64_t begins, int64_t ends) {
  loop_.push_back({name, kind, begins, ends});
}

void TraceRecorder::add(const std::vector<ItemSpan>& items) {
  items_.insert(items_.end(), items.begin(), items.end());
}

RunSpans* TraceRecorder::begin_run() {
  if (!runs_.empty()) recorded_steps_ += runs_.back().steps.size();
  if (!runs_.empty() && recorded_steps_ >= most_recorded_) {
    ++left_out_;
    return nullptr;
  }
  return &runs_.emplace_back();
}

void TraceRecorder::write_loop(RankTrace& trace) const {
  std::map<std::pair<std::string, TraceKind>, int> labels;
  TraceRow& row = trace.rows.front();
  for (const LoopSlice& slice : loop_) {
    auto [found, is_new] =
        labels.emplace(std::pair(slice.name, slice.kind), static_cast<int>(trace.labels.size()));
    if (is_new) trace.labels.push_back({slice.name, slice.kind});
    row.slices.push_back({found->second, slice.begins, slice.ends});
  }
}

void TraceRecorder::write_items(RankTrace& trace) const {
  int threads = 0;
  for (const ItemSpan& item : items_) threads = std::max(threads, item.thread + 1);
  const std::size_t first = trace.rows.size();
  for (int thread = 0; thread < threads; ++thread) trace.rows.push_back({join("loader ", thread)});
  std::map<int64_t, int> labels;  // by minibatch
  for (const ItemSpan& item : items_) {
    auto [found, is_new] = labels.emplace(item.step, static_cast<int>(trace.labels.size()));
    if (is_new)
      trace.labels.push_back({"read", TraceKind::data, {{"of step", join(item.step + 1)}}});
    trace.rows[first + item.thread].slices.push_back({found->second, item.begins, item.ends});
  }
}

RankTrace TraceRecorder::end() {
  session_.members().recorder = nullptr;
  ClockPoint last;
  if (comm_) last = compare_clocks(*comm_, [this] { return local_clock(); });
  RankTrace trace = empty_trace();
  try {
    write(trace, comm_ ? CommonClock(first_, last) : CommonClock());
  } catch (const std::exception& error) {  // no memory, for example
    trace = empty_trace();
    trace.missing = error.what();
  }
  return trace;
}

RankTrace TraceRecorder::empty_trace() const {
  RankTrace trace;
  trace.rank = comm_ ? comm_->rank() : 0;
  trace.host = host_name();
  trace.process = getpid();
  trace.steps_left_out = left_out_;
  return trace;
}

void TraceRecorder::write(RankTrace& trace, const CommonClock& common) const {
  trace.rows.push_back({kLoop});
  RunRows rows(trace);
  for (const RunSpans& run : runs_) {
    if (run.ends == 0) continue;  // the run failed
    rows.add(run);
    const bool trains = run.plan->name == run.model->step.name();
    trace.rows.front().slices.push_back(
        {static_cast<int>(trace.labels.size()), run.begins, run.ends});
    trace.labels.push_back(
        {trains ? name_of_training_run(run.step) : run.plan->name, TraceKind::step});
  }
  write_loop(trace);
  write_items(trace);
  trace.counters = {memory_, speed_};
  trace.summary = rows.summary();
  const auto clocked = [&](int64_t& at) { at = options_.clock(at); };
  for (TraceRow& row : trace.rows)
    for (TraceSlice& slice : row.slices) clocked(slice.begins), clocked(slice.ends);
  for (TraceMessage& message : trace.messages) clocked(message.at);
  for (TraceCounter& counter : trace.counters)
    for (auto& value : counter.values) clocked(value.first);
  move_to(trace, common);
}

}  // namespace lockstep
