// SPDX-License-Identifier: Apache-2.0
// The measured times of a plan's steps: the right runs of a trace, and traces that are refused.
#include "app/pages/measured_times.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "app/trace/trace_file.h"
#include "tests/support/expect_error.h"
#include "tests/support/planned_case.h"

namespace lockstep::testing {
namespace {

// A run of a plan in a trace.
struct TracedRunOf {
  const Plan* plan;
  PlanTimeline timeline;
  std::string name;
};

PlanTimeline timeline_of(const Plan& plan, double seconds) {
  return place_steps(plan, std::vector<double>(plan.steps.size(), seconds));
}

// A trace of one rank with these runs, each later than the one before.
RankTrace trace_with(const std::vector<TracedRunOf>& runs) {
  RankTrace trace;
  const auto row_of = [&](const std::string& name) -> TraceRow& {
    const auto found = std::ranges::find(trace.rows, name, &TraceRow::name);
    return found != trace.rows.end() ? *found : trace.rows.emplace_back(TraceRow{name});
  };
  int64_t begin = 1000;
  const auto ns = [&](double seconds) { return begin + std::llround(seconds * 1e9); };
  for (const auto& [plan, timeline, name] : runs) {
    const auto first = static_cast<int>(trace.labels.size());
    for (const PlanStep& step : plan->steps)
      trace.labels.push_back({step.name, TraceKind::forward, facts_of(*plan, step)});
    trace.labels.push_back({name, TraceKind::step});
    for (const Worker& worker : plan->workers) {
      std::vector<TraceSlice>& slices = row_of(text_of(worker)).slices;
      slices.push_back({static_cast<int>(trace.labels.size()) - 1, ns(0), ns(timeline.seconds)});
      for (const int step : worker.steps)
        slices.push_back(
            {first + step, ns(timeline.steps[step].begins), ns(timeline.steps[step].ends)});
    }
    begin = ns(timeline.seconds) + 500;
  }
  return trace;
}
std::string text_with(const std::vector<TracedRunOf>& runs) {
  return text_of_trace({trace_with(runs)}, {"lockstep train of something", {3, 5}});
}
// Of one run, "step 3".
std::string text_of_run(const Plan& plan) {
  return text_with({{&plan, timeline_of(plan, 1e-6), "step 3"}});
}

Plan lenet_plan(int replicas = 2, int64_t rows = 6) {
  return planned_for_page({"LeNet", small_lenet(replicas), false, 1, rows});
}

MeasuredTimes times_of_step(const Plan& plan, const std::string& text) {
  return measured_times(plan, RunProgram::training, text, "trace.json");
}
auto reading(const Plan& plan, const std::string& text) {
  return [&plan, text] { times_of_step(plan, text); };
}

TEST(MeasuredTimes, AreTheMedianRunOfATrace) {
  const Plan plan = lenet_plan();
  const PlanTimeline middle = timeline_of(plan, 2e-6);
  const MeasuredTimes measured =
      times_of_step(plan, text_with({{&plan, timeline_of(plan, 5e-6), "step 3"},
                                     {&plan, middle, "step 4"},
                                     {&plan, timeline_of(plan, 1e-6), "step 5"}}));
  EXPECT_EQ(measured.run, "step 4");
  EXPECT_EQ(measured.runs, 3);
  EXPECT_EQ(measured.left_out, 0);
  EXPECT_NEAR(measured.timeline.seconds, middle.seconds, 1e-9);
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    EXPECT_NEAR(measured.timeline.steps[i].begins, middle.steps[i].begins, 2e-9);
    EXPECT_NEAR(measured.timeline.steps[i].ends, middle.steps[i].ends, 2e-9);
  }
}

// Tests between the steps of a training run are predictions, on the same rows and with the same
// names of nodes.
TEST(MeasuredTimes, AreOfTheRunProgram) {
  const Plan plan = lenet_plan();
  const PlanTimeline quick = timeline_of(plan, 1e-6), slow = timeline_of(plan, 9e-6);
  const std::string text = text_with({{&plan, quick, "prediction"},
                                      {&plan, quick, "step by step"},
                                      {&plan, slow, "step 3"},
                                      {&plan, quick, "prediction"}});
  const MeasuredTimes measured = times_of_step(plan, text);
  EXPECT_EQ(measured.run, "step 3");
  EXPECT_EQ(measured.runs, 1);
  EXPECT_NEAR(measured.timeline.seconds, slow.seconds, 1e-9);
  const MeasuredTimes predicted = measured_times(plan, RunProgram::prediction, text, "trace.json");
  EXPECT_EQ(predicted.runs, 3);
  EXPECT_NEAR(predicted.timeline.seconds, quick.seconds, 1e-9);
  expect_error(
      [&] { measured_times(plan, RunProgram::prediction, text_of_run(plan), "trace.json"); },
      "trace.json", "no whole run of the prediction");
}

// A run with pictures of several sizes has several plans.
TEST(MeasuredTimes, LeaveOutRunsOfAnotherBatch) {
  const Plan plan = lenet_plan();
  const Plan last = lenet_plan(2, 4);
  const PlanTimeline slow = timeline_of(plan, 9e-6), quick = timeline_of(plan, 1e-6);
  const MeasuredTimes measured = times_of_step(
      plan,
      text_with({{&last, quick, "step 3"}, {&plan, slow, "step 4"}, {&last, quick, "step 5"}}));
  EXPECT_EQ(measured.run, "step 4");
  EXPECT_EQ(measured.runs, 1);
  EXPECT_EQ(measured.left_out, 2);
}

TEST(MeasuredTimes, OfAnotherStepAreAnErrorThatNamesIt) {
  const Plan plan = lenet_plan();
  const Plan other = planned_for_page({"MLP", small_mlp(2)});
  const std::string good = text_of_run(plan);
  expect_error(reading(other, good), "trace.json", "another step", plan.steps[0].name,
               other.steps[0].name, "lockstep train of something");
  Plan renamed = lenet_plan();
  renamed.steps[0].name = "conv\x1b[2J";
  expect_error(reading(plan, text_of_run(renamed)), "another step", "'conv\\x1b");
  renamed.steps[0].name = "\xff";
  EXPECT_EQ(times_of_step(renamed, text_of_run(renamed)).runs, 1) << "the file has U+FFFD";
  expect_error(reading(plan, "{}"), "traceEvents");
  expect_error(reading(plan, good.substr(0, good.size() / 2)), "is no trace");
  expect_error(reading(plan, R"({"traceEvents": [1, null, {"ph": 3}, {"ph": "X", "pid": "a"}]})"),
               "no row 'cpu:0'");
}

TEST(MeasuredTimes, OfAnotherBatchAreAnError) {
  const Plan plan = lenet_plan();
  const Plan larger = lenet_plan(2, 7);
  ASSERT_EQ(plan.steps[0].name, larger.steps[0].name);
  expect_error(reading(plan, text_of_run(larger)), "trace.json", "another step", plan.steps[0].name,
               "results", "[6,", "in the trace", "[7,", "batch");
}

TEST(MeasuredTimes, OfAnotherOperatorOrPartAreAnError) {
  const Plan plan = lenet_plan();
  Plan other = lenet_plan(), part = lenet_plan();
  other.steps[1].type = "Elu";
  part.steps[1].parts += 6;
  expect_error(reading(plan, text_of_run(other)), "another step", "operator", "Elu");
  expect_error(reading(plan, text_of_run(part)), "another step", "part", " of 7");
}

TEST(MeasuredTimes, OfALongerStepAreAnError) {
  const Plan whole = lenet_plan(1);
  Plan shorter = lenet_plan(1);
  const std::string last = shorter.steps.back().name;
  shorter.steps.pop_back();
  shorter.workers[0].steps.pop_back();
  expect_error(reading(shorter, text_of_run(whole)), "another step", "goes on with", last);
  expect_error(reading(whole, text_of_run(shorter)), "another step", last, "no more steps");
  const Plan two = lenet_plan(2), three = lenet_plan(3);
  expect_error(reading(three, text_of_run(two)), "trace.json", "another step");
  expect_error(reading(two, text_of_run(three)), "trace.json", "another step");
  // A third worker whose steps the others do not await.
  Plan beside = lenet_plan(2), donor = lenet_plan(2);
  PlanStep& alone = donor.steps[0];
  alone.worker = static_cast<int>(beside.workers.size());
  alone.waits.clear();
  beside.workers.push_back(Worker{{DeviceKind::cpu, 2}});
  beside.workers.back().steps.push_back(static_cast<int>(beside.steps.size()));
  beside.steps.push_back(std::move(alone));
  expect_error(reading(two, text_of_run(beside)), "another step", "'cpu:2'", "the plan has not");
}

TEST(MeasuredTimes, OfSeveralProcessesAreAnError) {
  const Plan plan = lenet_plan();
  RankTrace first = trace_with({{&plan, timeline_of(plan, 1e-6), "step 3"}}), second = first;
  second.rank = 1;
  expect_error(reading(plan, text_of_trace({first, second}, {"lockstep launch", {3, 3}})),
               "trace.json", "2 processes", "a plan is of one process", "lockstep launch");
  second.rows.clear();
  second.missing = "its memory was full";
  expect_error(reading(plan, text_of_trace({first, second}, {"lockstep launch", {3, 3}})),
               "2 processes");
}

}  // namespace
}  // namespace lockstep::testing
