// SPDX-License-Identifier: Apache-2.0
// The page of a plan: predicted times, rectangles of arenas, hostile names; the report of a run.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "app/pages/plan_page.h"
#include "app/report/run_plan.h"
#include "runtime/plan/step_phases.h"
#include "tests/support/expect_error.h"
#include "tests/support/planned_case.h"

namespace lockstep::testing {
namespace {

// Two workers that compute and one that communicates. Waits are pairs (worker, number).
Plan plan_by_hand() {
  Plan plan;
  plan.name = "step";
  plan.workers = {Worker{{DeviceKind::cpu, 0}}, Worker{{DeviceKind::cpu, 1}},
                  Worker{{DeviceKind::cpu, 0}, Worker::Role::communicates}};
  const auto add = [&](const char* name, int worker, std::vector<Wait> waits) {
    PlanStep step;
    step.name = name;
    step.worker = worker;
    step.waits = std::move(waits);
    plan.workers[worker].steps.push_back(static_cast<int>(plan.steps.size()));
    plan.steps.push_back(std::move(step));
  };
  add("forward_0", 0, {});               // 0
  add("forward_1", 1, {});               // 1
  add("backward_0", 0, {});              // 2
  add("sum", 2, {{0, 1}, {1, 0}});       // 3: after backward_0 and forward_1
  add("backward_1", 1, {});              // 4
  add("update_0", 0, {{2, 0}});          // 5: after sum
  add("update_1", 1, {{2, 0}, {0, 0}});  // 6
  return plan;
}
const std::vector<double> kSecondsByHand{2, 1, 3, 4, 9, 1, 1};
const std::vector<Phase> kPhasesByHand{Phase::forward, Phase::forward,  Phase::backward,
                                       Phase::reduce,  Phase::backward, Phase::update,
                                       Phase::update};

TEST(PlanTimeline, IsTheOneByHand) {
  const Plan plan = plan_by_hand();
  const PlanTimeline timeline = place_steps(plan, kSecondsByHand);
  const std::vector<std::array<double, 3>> expected{{0, 2, -1},  {0, 1, -1}, {2, 5, -1},  {5, 9, 2},
                                                    {1, 10, -1}, {9, 10, 3}, {10, 11, -1}};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(timeline.steps[i].begins, expected[i][0]) << plan.steps[i].name;
    EXPECT_EQ(timeline.steps[i].ends, expected[i][1]) << plan.steps[i].name;
    EXPECT_EQ(timeline.steps[i].awaited, expected[i][2]) << plan.steps[i].name;
  }
  EXPECT_EQ(timeline.seconds, 11);

  const TimelineFigures figures = figures_of(plan, timeline, kPhasesByHand);
  EXPECT_EQ(figures.busiest, 1);
  EXPECT_EQ(figures.busy, (std::array<double, kPhases>{1, 9, 0, 1}));
  EXPECT_EQ(figures.waiting, 0);
  EXPECT_EQ(figures.exposed, 4) << "worker 0 waits from 5 to 9 for the sum";
  EXPECT_EQ(figures.exposed_on, 0);
  EXPECT_EQ(figures.latest_reduce, 3);
  EXPECT_EQ(figures.after_backward, -1) << "backward_1 ends at 10";
}

TEST(PlanTimeline, RefusesAWaitForALaterStep) {
  Plan plan = plan_by_hand();
  plan.steps[1].waits = {{0, 1}};
  expect_error([&] { place_steps(plan, kSecondsByHand); }, "forward_1", "step 2", "comes later");
  expect_error([&] { place_steps(plan, {1, 2}); }, "7 steps", "times of 2");
}

std::vector<PlannedCase> planned_cases() {
  std::vector<PlannedCase> cases;
  for (const int replicas : {1, 2, 3})
    for (const int parts : {1, 2}) {
      const std::string of = join(" on ", replicas, ", ", parts, " parts");
      cases.emplace_back("MLP" + of, small_mlp(replicas, MomentumSgd{}, {.micro_batches = parts}),
                         false, parts);
      cases.emplace_back("batch norm" + of, small_bn_net(replicas, {.micro_batches = parts}), false,
                         parts);
      cases.emplace_back("residual" + of,
                         small_residual({.replicas = replicas, .micro_batches = parts}), false,
                         parts);
    }
  cases.emplace_back("LeNet", small_lenet(2));
  cases.emplace_back("MLP on GPUs", small_mlp(2), true);
  cases.emplace_back("MLP on 4 GPUs", small_mlp(4), true);
  return cases;
}

void expect_in_order(const Plan& plan, const PlanTimeline& timeline) {
  std::vector<double> free(plan.workers.size(), 0);
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const PlanStep& step = plan.steps[i];
    const PlacedStep& placed = timeline.steps[i];
    EXPECT_GE(placed.begins, free[step.worker]) << step.name;
    free[step.worker] = placed.ends;
    for (const Wait& wait : step.waits)
      EXPECT_GE(placed.begins, timeline.steps[awaited_step(plan, wait)].ends) << step.name;
    EXPECT_LE(placed.ends, timeline.seconds) << step.name;
  }
}

void expect_apart(const Plan& plan, const std::vector<ArenaRectangle>& rectangles) {
  for (std::size_t i = 0; i < rectangles.size(); ++i) {
    const ArenaRectangle& a = rectangles[i];
    const Block& block = plan.blocks[a.block];
    EXPECT_LE(block.offset + block.bytes, plan.workers[block.worker].arena_bytes);
    for (std::size_t j = i + 1; j < rectangles.size(); ++j) {
      const ArenaRectangle& b = rectangles[j];
      const Block& other = plan.blocks[b.block];
      const bool same_place = block.worker == other.worker &&
                              block.offset < other.offset + other.bytes &&
                              other.offset < block.offset + block.bytes;
      const bool same_time = a.begins < b.ends && b.begins < a.ends;
      EXPECT_FALSE(same_place && same_time) << "blocks " << a.block << " and " << b.block;
    }
  }
}

TEST(PlanTimeline, KeepsWaitsAndRectanglesNeverOverlap) {
  for (const PlannedCase& each : planned_cases()) {
    SCOPED_TRACE(each.name);
    const Plan plan = planned_for_page(each);
    // Times by kind of step, and times that have nothing to do with the work.
    std::vector<double> odd;
    for (std::size_t i = 0; i < plan.steps.size(); ++i)
      odd.push_back(1 + static_cast<double>(i * 7919 % 97));
    for (const std::vector<double>& seconds : {predicted_seconds(plan, usual_rates(plan)), odd}) {
      const PlanTimeline timeline = place_steps(plan, seconds);
      expect_in_order(plan, timeline);
      const std::vector<ArenaRectangle> rectangles = rectangles_of(plan, timeline);
      EXPECT_GT(rectangles.size(), plan.workers.size());
      expect_apart(plan, rectangles);
      for (std::size_t w = 0; w < plan.workers.size(); ++w) {
        const ArenaPeak peak = peak_of(plan, rectangles, static_cast<int>(w));
        EXPECT_LE(peak.bytes, plan.workers[w].arena_bytes);
        if (plan.workers[w].arena_bytes > 0) {
          EXPECT_GT(peak.bytes, 0U);
        }
      }
    }
  }
}

TEST(PlanTimeline, SumsAreThoseOfTheWorkers) {
  const PlannedCase each("MLP", small_mlp(2));
  const Plan plan = planned_for_page(each);
  const PlanTimeline timeline = place_steps(plan, predicted_seconds(plan, usual_rates(plan)));
  const TimelineFigures figures = figures_of(plan, timeline, phases_of(plan, each.model()));
  double busy = figures.waiting, own = 0;
  for (const double seconds : figures.busy) busy += seconds;
  EXPECT_NEAR(busy, timeline.seconds, 1e-12);
  for (const int step : plan.workers[figures.busiest].steps)
    own += timeline.steps[step].ends - timeline.steps[step].begins;
  EXPECT_NEAR(own, timeline.seconds - figures.waiting, 1e-12);
  EXPECT_GE(figures.latest_reduce, 0);
  EXPECT_GT(figures.exposed, 0);
}

// The layer of 36 x 16 on 6 rows: 2 x 6 x 36 x 16 operations, at one a second.
TEST(PlanTimeline, PredictsProductsByTheRate) {
  const Plan plan = planned_for_page({"MLP", small_mlp(1)});
  PlanRates rates{{1, 1, 1e18, 0.25}, {}};
  const std::vector<double> seconds = predicted_seconds(plan, rates);
  const auto first = std::ranges::find_if(
      plan.steps, [](const PlanStep& step) { return step.flops.products > 0; });
  ASSERT_NE(first, plan.steps.end());
  EXPECT_NEAR(seconds[first - plan.steps.begin()], 2 * 6 * 36 * 16 + 0.25, 1e-6) << first->name;
}

nlohmann::json data_in(const std::string& page) {
  const std::string begin = "<script type=\"application/json\" id=\"data\">";
  const std::size_t at = page.find(begin) + begin.size();
  return nlohmann::json::parse(page.substr(at, page.find("</script>", at) - at));
}

TEST(PlanPage, HasEveryStepAndNoNameLeavesItsData) {
  const PlannedCase each("MLP", small_mlp(2));
  PlannedMemory memory;
  Plan plan = planned_for_page(each, &memory);
  const std::string hostile =
      "</script><script>alert(1)</script>\x1b[2J\xff" + std::string(size_t{1} << 20U, 'x');
  plan.steps[3].name = plan.slots[plan.steps[3].out[0]].name = hostile;
  PlanPage page;
  page.title = "Plan of <b>&\"";
  page.timeline = place_steps(plan, predicted_seconds(plan, usual_rates(plan)));
  page.phases = phases_of(plan, each.model());
  page.memory = memory;
  page.limit = 1000;
  std::ostringstream out;
  write_page(out, plan, page);
  const std::string text = out.str();
  EXPECT_EQ(text.find("<script>alert"), text.npos);
  EXPECT_EQ(text.find("<b>&"), text.npos);
  const nlohmann::json data = data_in(text);
  ASSERT_EQ(data.at("steps").at("name").size(), plan.steps.size());
  const auto& texts = data.at("texts");
  EXPECT_EQ(texts.at(data["steps"]["name"][0].get<int>()), plan.steps[0].name);
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    EXPECT_EQ(data["steps"]["waits"][i].size(), plan.steps[i].waits.size());
    EXPECT_EQ(data["steps"]["in"][i], nlohmann::json(plan.steps[i].in));
    EXPECT_EQ(data["steps"]["worker"][i], plan.steps[i].worker);
  }
  EXPECT_EQ(data["memory"]["need"], memory.all());
  EXPECT_EQ(data["workers"].size(), 2U);
  EXPECT_EQ(data["said"].size(), 3U);
  std::string said;
  for (const auto& sentence : data["said"]) said += sentence.get<std::string>() + "\n";
  for (const char* part :
       {"A step takes", "(predicted)", "The latest reduce, ", "exposed", "too little", "arenas"})
    EXPECT_NE(said.find(part), said.npos) << part << " is missing in " << said;
}

TEST(ReportOfARun, HasThePlanAndTheLastTrace) {
  const PlannedCase each("LeNet", small_lenet(2));
  const std::string plan = section_of(planned_for_page(each), each.model(), "a&b's run");
  // As escaped HTML; the words are quoted for a shell.
  constexpr const char* kCommand =
      "<code>lockstep plan 'a&amp;b'\\''s run/config.yaml' --format html -o "
      "'a&amp;b'\\''s run/plan.html'</code>";
  for (const char* part : {"<h2>Plan</h2>", "A step takes", "cpu:0</text>", "cpu:1</text>",
                           "var(--purple)", "arena of", kCommand})
    EXPECT_NE(plan.find(part), plan.npos) << part;
  EXPECT_EQ(plan.find("nan"), plan.npos);
  EXPECT_LT(plan.size(), 60000U);

  RankTrace quick, slow;
  slow.rank = 1;
  quick.host = slow.host = "<host>";
  quick.summary = {{"step", 12}, {"forward", 3}, {"wait", 7}};
  slow.summary = {{"step", 12}, {"forward", 9}, {"wait", 2.5}};
  const std::string trace = section_of(summary_of({quick, slow}, "t.json", {3, 7}));
  for (const char* part : {"Iterations 3 to 7", "t.json", "The slowest rank is 1, with 9.5 ms",
                           "<td>2.5 ms</td>", "1 on &lt;host&gt;", "<th>forward</th>"})
    EXPECT_NE(trace.find(part), trace.npos) << part << " is missing in " << trace;
}

}  // namespace
}  // namespace lockstep::testing
