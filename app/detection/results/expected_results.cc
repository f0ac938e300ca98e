// SPDX-License-Identifier: Apache-2.0
#include "app/detection/results/expected_results.h"

#include <algorithm>
#include <cmath>

#include "app/config/nested.h"
#include "app/config/read.h"
#include "app/detection/results/test_report.h"
#include "app/format.h"
#include "graph/listed.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

constexpr const char* kKey = "EXPECTED_RESULTS";

// A task of Detectron's, computed by the tests of these detectors.
struct ExpectedTask {
  const char* name;
  bool (*is_tested)(const TestedKinds& kinds);
};
constexpr ExpectedTask kBox{"box", [](const TestedKinds&kinds) { return !kinds.proposals_only; }},
    kMask{"mask", [](const TestedKinds&kinds) { return kinds.masks; }},
    kKeypoint{"keypoint", [](const TestedKinds&kinds) { return kinds.keypoints; }},
    kProposal{"box_proposal", [](const TestedKinds&kinds) { return kinds.proposals_only; }};

// A number of Detectron's and its name in metrics.jsonl.
struct ExpectedMetric {
  const ExpectedTask* task;
  const char *metric, *number;
};
const std::vector<ExpectedMetric>& expected_metrics() {
  static const std::vector<ExpectedMetric> rows{{&kBox, "AP", "ap"},
                                                {&kBox, "AP50", "ap50"},
                                                {&kBox, "AP75", "ap75"},
                                                {&kBox, "APs", "ap_small"},
                                                {&kBox, "APm", "ap_medium"},
                                                {&kBox, "APl", "ap_large"},
                                                {&kMask, "AP", "mask_ap"},
                                                {&kMask, "AP50", "mask_ap50"},
                                                {&kMask, "AP75", "mask_ap75"},
                                                {&kMask, "APs", "mask_ap_small"},
                                                {&kMask, "APm", "mask_ap_medium"},
                                                {&kMask, "APl", "mask_ap_large"},
                                                {&kKeypoint, "AP", "keypoint_ap"},
                                                {&kKeypoint, "AP50", "keypoint_ap50"},
                                                {&kKeypoint, "AP75", "keypoint_ap75"},
                                                {&kKeypoint, "APm", "keypoint_ap_medium"},
                                                {&kKeypoint, "APl", "keypoint_ap_large"},
                                                {&kProposal, "AR@100", "ar100"},
                                                {&kProposal, "ARs@100", "ar100_small"},
                                                {&kProposal, "ARm@100", "ar100_medium"},
                                                {&kProposal, "ARl@100", "ar100_large"},
                                                {&kProposal, "AR@1000", "ar1000"},
                                                {&kProposal, "ARs@1000", "ar1000_small"},
                                                {&kProposal, "ARm@1000", "ar1000_medium"},
                                                {&kProposal, "ARl@1000", "ar1000_large"}};
  return rows;
}

const ExpectedMetric* metric_of(const ExpectedResult& expected) {
  for (const ExpectedMetric& row : expected_metrics())
    if (row.task->name == expected.task && row.metric == expected.metric) return &row;
  return nullptr;
}

std::string text_of_result(const ExpectedResult& expected) {
  return join(expected.set, " ", expected.task, " ", expected.metric);
}

ExpectedResult read_expected(const Nested& row) {
  check(row.kind == Nested::Kind::list && row.list.size() == 4, "'", text_of(row),
        "' should be [data set, task, number, value], such as [coco_2014_minival, box, AP, 0.38]");
  ExpectedResult expected{row.list[0].name("the data set"), row.list[1].name("the task"),
                          row.list[2].name("the number"), 0, std::nullopt};
  const Nested& value = row.list[3];
  if (value.kind != Nested::Kind::list) {
    expected.value = value.number("the value of " + text_of_result(expected));
    return expected;
  }
  check(value.list.size() == 2, "the value of ", text_of_result(expected), " is '", text_of(value),
        "', should be a number or [mean, deviation]");
  expected.value = value.list[0].number("the mean of " + text_of_result(expected));
  expected.deviation = value.list[1].number("the deviation of " + text_of_result(expected));
  check(*expected.deviation >= 0, "the deviation of ", text_of_result(expected), " is ",
        *expected.deviation, ", should be at least 0");
  return expected;
}

void check_computed(const ExpectedResult& expected, const DetectorConfig& config) {
  const std::vector<std::string>& sets = config.test.data.datasets;
  check(std::find(sets.begin(), sets.end(), expected.set) != sets.end(), "'", expected.set,
        "' is not tested: TEST.DATASETS has ", sets.empty() ? "no set" : listed(sets));
  const TestedKinds kinds = tested_kinds(config);
  std::vector<std::string> known;
  for (const ExpectedMetric& row : expected_metrics())
    if (row.task->is_tested(kinds)) known.push_back(join(row.task->name, " ", row.metric));
  const ExpectedMetric* row = metric_of(expected);
  check(row && row->task->is_tested(kinds), "this test does not compute '", expected.task, " ",
        expected.metric, "', only ", listed(known));
}

}  // namespace

std::vector<ExpectedResult> expected_results(const DetectorConfig& config) {
  std::vector<ExpectedResult> all;
  prefixing(config.origins.blame({kKey}, config.path), [&] {
    const Nested rows = parse_nested(config.expected.results);
    check(rows.kind == Nested::Kind::list, "'", config.expected.results,
          "' should be a list of results");
    for (const Nested& row : rows.list) all.push_back(read_expected(row));
    for (const ExpectedResult& expected : all) check_computed(expected, config);
  });
  return all;
}

ComparedResult compared(const ExpectedResult& expected, const BoxTestResult& result,
                        const ExpectedResults& tolerance) {
  const double within = expected.deviation
                            ? tolerance.sigma_tol * *expected.deviation
                            : tolerance.atol + tolerance.rtol * std::abs(expected.value);
  const ExpectedMetric* row = metric_of(expected);
  check(row != nullptr, "internal: no number is called '", expected.metric, "'");
  for (const auto& [name, number] : numbers_of(result)) {
    if (name != row->number) continue;
    const bool holds = std::abs(number - expected.value) <= within;
    return {holds, join(holds ? "PASS " : "FAIL ", text_of_result(expected), ": ", fixed(number, 3),
                        ", expected ", fixed(expected.value, 3), " within ", fixed(within, 3))};
  }
  return {false, join("FAIL ", text_of_result(expected), ": the data set has no object for it")};
}

}  // namespace lockstep
