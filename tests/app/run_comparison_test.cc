// SPDX-License-Identifier: Apache-2.0
// Numbers of whole runs, and the page that compares them.
#include <gtest/gtest.h>

#include <cmath>

#include "app/report/run_comparison.h"
#include "app/report/run_facts.h"
#include "tests/support/expect_error.h"
#include "tests/support/occurrences.h"

namespace lockstep::testing {
namespace {

// Steps of 0.5 s, then of 0.25 s, of which a fifth is waiting; a test between.
const std::vector<MetricRow> kRows{
    {{"iter", 10}, {"loss", 3}, {"time", 0.5}, {"data_time", 0.1}, {"images_per_second", 32}},
    {{"iter", 10}, {"test_accuracy", 0.75}},
    {{"iter", 30},
     {"loss", 1},
     {"time", 0.25},
     {"data_time", 0.05},
     {"images_per_second", 64},
     {"memory_mib", 100}},
    {{"iter", 40},
     {"loss", 2},
     {"time", 0.25},
     {"data_time", 0.05},
     {"images_per_second", 64},
     {"memory_mib", 90}}};

TEST(RunFacts, AreMeansOverAllSteps) {
  const RunFacts facts = facts_of(kRows);
  EXPECT_EQ(facts.iterations, 40);
  EXPECT_DOUBLE_EQ(facts.seconds, 10 * 0.5 + 30 * 0.25);
  EXPECT_EQ(facts.unit, "images");
  EXPECT_DOUBLE_EQ(facts.speed, 40 * 16 / facts.seconds);
  EXPECT_EQ(facts.memory_mib, 100);
  ASSERT_EQ(facts.times.size(), 2U);
  EXPECT_EQ(facts.times[0].kind, "computing");
  EXPECT_EQ(facts.times[1].kind, "data");
  EXPECT_NEAR(facts.times[1].seconds, facts.seconds / 40 / 5, 1e-12);
  EXPECT_NEAR(facts.times[0].seconds + facts.times[1].seconds, facts.seconds / 40, 1e-12);
  EXPECT_EQ(facts_of({}).times.size(), 0U);
}

TEST(RunFacts, RangesSkipRowsWithoutTheMetric) {
  const MetricRange loss = range_of(kRows, "loss");
  EXPECT_EQ(loss.last, 2);
  EXPECT_EQ(loss.least, 1);
  EXPECT_EQ(loss.most, 3);
  EXPECT_TRUE(std::isnan(range_of(kRows, "nothing").last));
  EXPECT_EQ(metrics_in(kRows),
            (std::vector<std::string>{"loss", "time", "data_time", "images_per_second",
                                      "test_accuracy", "memory_mib"}));
}

TEST(RunComparison, DrawsEachMetricWithALineForEachRun) {
  RunComparison comparison;
  for (int i = 0; i < static_cast<int>(kMostRuns); ++i)
    comparison.runs.push_back({"run_" + std::to_string(i), kRows, ""});
  comparison.about_settings = "equal";
  const std::string page = html_of(comparison);
  EXPECT_EQ(occurrences(page, "<figure class=\"chart\">"), 6);
  for (const char* style :
       {"line blue\"", "line purple\"", "line blue dashed\"", "line purple dotted\""})
    EXPECT_GE(occurrences(page, style), 5) << style;
  // 312.5 ms are the longest step: 250 of computing, 62.5 of waiting.
  for (const char* cell : {"<td>250<div class=\"bar\"><i style=\"width:80.0%\">",
                           "<td>62.5<div class=\"bar\"><i style=\"width:20.0%\">"})
    EXPECT_EQ(occurrences(page, cell), static_cast<int>(kMostRuns)) << cell;
  comparison.runs.push_back({"one more", kRows, ""});
  expect_error([&] { html_of(comparison); }, "1 to 12 runs, not 13");
  comparison.runs.clear();
  expect_error([&] { html_of(comparison); }, "not 0");
}

}  // namespace
}  // namespace lockstep::testing
