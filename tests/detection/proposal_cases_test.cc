// SPDX-License-Identifier: Apache-2.0
// Compares labels of proposals with Detectron's. The only difference is a box with a crowd region
// as its best match: Detectron labels it with the crowd's class or as background, Lockstep ignores
// it.
#include <gtest/gtest.h>

#include "tests/detection/cases.h"
#include "tests/support/naive_targets.h"

namespace lockstep::testing {
namespace {

using nlohmann::json;

// Proposals are compared at the picture's scale: x2 is (x2 at the input) / scale, plus 1.
TEST(DetectronTargets, OfProposals) {
  const json& c = detectron_cases().at("proposal_labels");
  const double scale = c.at("scale");
  const auto rows = static_cast<int64_t>(c.at("gt").size());
  const auto count = static_cast<int64_t>(c.at("proposals_at_input_scale").size());
  std::vector<float> boxes;
  for (const json& box : c.at("proposals_at_input_scale"))
    for (std::size_t k = 0; k < 4; ++k)
      boxes.push_back(static_cast<float>(box[k].get<double>() / scale + (k < 2 ? 0 : 1)));
  std::vector<int64_t> sources;
  for (int64_t i = 0; i < count; ++i) sources.push_back(i);
  const std::vector<int64_t> classes = c.at("classes"), crowd = c.at("crowd");
  const TargetOperands truth{of_floats(half_open(c.at("gt")), {1, rows, 4}),
                             labels(classes, {1, rows}), labels(crowd, {1, rows}),
                             of_floats({}, {0, 3}), labels({1}, {1})};
  ProposalTargetsAttrs attrs;
  attrs.sample = attrs.foreground = 1000;
  attrs.crowd_overlap = 0;
  const auto found = results_of(proposal_targets_case("detectron", of_floats(boxes, {1, count, 4}),
                                                      labels(sources, {1, count}), truth, attrs));
  const auto rois = found[0].values<float>(), targets = found[2].values<float>();
  const auto label = found[1].values<int64_t>();

  // Detectron's candidates are the true boxes followed by the proposals. Detectron's last row is a
  // crowd.
  const std::vector<double> overlaps = c.at("max_overlaps");
  const std::vector<int64_t> best_classes = c.at("max_classes");
  ASSERT_EQ(static_cast<int64_t>(overlaps.size()), rows + count);
  std::size_t expected_count = 0, in_crowds = 0;
  for (const json& each : c.at("sampled_sorted_by_roi")) {
    std::vector<double> roi;  // in picture coordinates
    for (std::size_t k = 0; k < 4; ++k)
      roi.push_back(each.at("roi")[k + 1].get<double>() / scale + (k < 2 ? 0 : 1));
    std::size_t at = 0;
    const auto is_here = [&] {
      for (std::size_t k = 0; k < 4; ++k)
        if (std::abs(rois[4 * at + k] - roi[k]) > 1e-3) return false;
      return label[at] >= 0;
    };
    while (at < label.size() && !is_here()) ++at;
    int64_t best_class = -1;  // Detectron's label
    for (int64_t i = 0; i < rows + count; ++i) {
      bool same = true;
      for (std::size_t k = 0; k < 4; ++k) {
        const auto p = static_cast<std::size_t>(i < rows ? 0 : 4 * (i - rows)) + k;
        const double corner = i < rows ? c.at("gt")[i][k].get<double>() + (k < 2 ? 0 : 1)
                                       : static_cast<double>(boxes[p]);
        same = same && std::abs(corner - roi[k]) < 1e-3;
      }
      if (same) best_class = best_classes[i];
    }
    if (best_class == 4) {
      EXPECT_EQ(at, label.size()) << each;
      ++in_crowds;
      continue;
    }
    ASSERT_LT(at, label.size()) << each;
    ++expected_count;
    EXPECT_EQ(label[at], each.at("label").get<int64_t>()) << each;
    for (std::size_t k = 0; k < 4; ++k) {
      const double expected = each.at("target").empty() ? 0 : each.at("target")[k].get<double>();
      EXPECT_NEAR(targets[4 * at + k], expected, 1e-5 * std::max(1.0, std::abs(expected))) << each;
    }
  }
  EXPECT_GT(in_crowds, 4u);
  EXPECT_EQ(static_cast<std::size_t>(
                std::count_if(label.begin(), label.end(), [](int64_t l) { return l >= 0; })),
            expected_count);
}

}  // namespace
}  // namespace lockstep::testing
