// SPDX-License-Identifier: Apache-2.0
// Compares BoxSuppression, DetectionResults and RefinedDetections with Detectron's functions.
// Detectron's boxes are inclusive: adding 1 to x2 and y2 gives Lockstep's.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "graph/file.h"
#include "tests/support/case_run.h"
#include "tests/support/golden.h"

namespace lockstep::testing {
namespace {

using Json = nlohmann::json;

const Json& boxes_cases() {
  static const Json cases = Json::parse(read_file(source_path("tests/detection/boxes_cases.json")));
  return cases;
}

// A row's box, which begins at element `first`, as a half-open box.
std::vector<float> half_open_box(const Json& row, std::size_t first) {
  return {row[first], row[first + 1], row[first + 2].get<float>() + 1,
          row[first + 3].get<float>() + 1};
}

std::vector<Literal> run_boxes_case(const OpCase& c) {
  const Built built = build(c);
  std::vector<std::string> fetches;
  for (Value output : built.outputs) fetches.push_back(built.graph.name(output));
  return CaseRunner(built.graph, c, built.feeds, fetches, guarded()).run(fed_values(c));
}

std::vector<int64_t> kept_here(const Json& group) {
  std::vector<float> boxes, scores;
  for (const Json& row : group["dets"]) {
    for (float x : half_open_box(row, 0)) boxes.push_back(x);
    scores.push_back(row[4]);
  }
  const auto count = static_cast<int64_t>(scores.size());
  const auto found = run_boxes_case(
      {.name = "nms",
       .type = "BoxSuppression",
       .domain = kOwnDomain,
       .attributes = {{"threshold", group["threshold"].get<float>()}, {"capacity", count}},
       .inputs = {testing::given(Literal::of<float>(boxes, {1, count, 4})),
                  testing::given(Literal::of<float>(scores, {1, count}))},
       .outputs = 2});
  const auto indices = found[0].integers();
  std::vector<int64_t> kept(indices.begin(), indices.begin() + found[1].integers()[0]);
  std::sort(kept.begin(), kept.end());
  return kept;
}

TEST(DetectronBoxes, SuppressionKeepsTheSame) {
  for (const Json& group : boxes_cases()["nms"]) {
    if (group.contains("note")) continue;
    EXPECT_EQ(group["keep"].get<std::vector<int64_t>>(), kept_here(group)) << group["threshold"];
  }
}

// Detectron drops a box at an IoU equal to the threshold; ONNX, torchvision and Lockstep keep the
// box.
TEST(DetectronBoxes, AnIouEqualToTheThresholdStaysHere) {
  const Json& group = boxes_cases()["nms"].back();
  ASSERT_EQ("an IoU equal to the threshold is suppressed", group["note"]);
  EXPECT_EQ((std::vector<int64_t>{0, 2}), group["keep"].get<std::vector<int64_t>>());
  EXPECT_EQ((std::vector<int64_t>{0, 1, 2}), kept_here(group));
}

TEST(DetectronBoxes, ResultsAreTheSame) {
  const Json& group = boxes_cases()["box_results"];
  std::vector<float> boxes, scores;
  const auto classes = static_cast<int64_t>(group["scores"][0].size());
  for (std::size_t row = 0; row < group["scores"].size(); ++row)
    for (std::size_t c = 0; c < group["scores"][row].size(); ++c) {
      for (float x : half_open_box(group["boxes"][row], 4 * c)) boxes.push_back(x);
      scores.push_back(group["scores"][row][c]);
    }
  const auto count = static_cast<int64_t>(scores.size());
  const int64_t capacity = group["detections_per_im"];
  const auto found = run_boxes_case(
      {.name = "results",
       .type = "DetectionResults",
       .domain = kOwnDomain,
       .attributes = {{"classes", classes},
                      {"score_threshold", group["score_thresh"].get<float>()},
                      {"overlap", group["nms"].get<float>()},
                      {"capacity", capacity}},
       .inputs = {testing::given(Literal::of<float>(boxes, {1, count, 4})),
                  testing::given(Literal::of<float>(scores, {1, count})), left_out()},
       .outputs = 4});
  std::vector<std::vector<float>> expected, mine;  // score, class, box
  for (std::size_t c = 0; c < group["per_class"].size(); ++c)
    for (const Json& row : group["per_class"][c]) {
      expected.push_back({row[4], static_cast<float>(c)});
      for (float x : half_open_box(row, 0)) expected.back().push_back(x);
    }
  for (int64_t i = 0; i < found[3].integers()[0]; ++i) {
    mine.push_back({found[1].values<float>()[i], static_cast<float>(found[2].integers()[i])});
    for (int64_t k = 0; k < 4; ++k) mine.back().push_back(found[0].values<float>()[4 * i + k]);
  }
  EXPECT_TRUE(std::is_sorted(mine.begin(), mine.end(),
                             [](const auto& a, const auto& b) { return a[0] > b[0]; }));
  std::sort(expected.begin(), expected.end());
  std::sort(mine.begin(), mine.end());
  ASSERT_EQ(expected.size(), mine.size());
  for (std::size_t i = 0; i < mine.size(); ++i)
    for (std::size_t k = 0; k < mine[i].size(); ++k)
      EXPECT_NEAR(expected[i][k], mine[i][k], 1e-5 * std::max(1.0F, std::abs(expected[i][k])))
          << "result " << i << ", number " << k;
}

// The results of RefinedDetections among candidates of one class, as rows of a box and a score.
std::vector<std::vector<float>> refined_rows(const Json& dets, Attributes attributes) {
  std::vector<float> boxes, scores;
  for (const Json& row : dets) {
    for (float x : half_open_box(row, 0)) boxes.push_back(x);
    scores.push_back(row[4]);
  }
  const auto count = static_cast<int64_t>(scores.size());
  attributes.emplace_back("classes", int64_t{2});
  attributes.emplace_back("score_threshold", 0.0F);
  attributes.emplace_back("capacity", count);
  const auto found =
      run_boxes_case({.name = "refined",
                      .type = "RefinedDetections",
                      .domain = kOwnDomain,
                      .attributes = attributes,
                      .inputs = {testing::given(Literal::of<float>(boxes, {1, count, 4})),
                                 testing::given(Literal::of<float>(scores, {1, count})),
                                 labels(std::vector<int64_t>(scores.size(), 1), {1, count})},
                      .outputs = 4});
  std::vector<std::vector<float>> rows;
  for (int64_t i = 0; i < found[3].integers()[0]; ++i) {
    const float* box = found[0].values<float>().data() + 4 * i;
    rows.push_back({box[0], box[1], box[2], box[3], found[1].values<float>()[i]});
  }
  return rows;
}

void expect_close_rows(const std::vector<std::vector<float>>& found, Json expected) {
  std::stable_sort(expected.begin(), expected.end(),
                   [](const Json& a, const Json& b) { return a[4] > b[4]; });
  ASSERT_EQ(expected.size(), found.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    std::vector<float> row = half_open_box(expected[i], 0);
    row.push_back(expected[i][4]);
    for (std::size_t k = 0; k < row.size(); ++k)
      EXPECT_NEAR(row[k], found[i][k], 1e-5 * std::max(1.0F, std::abs(row[k])))
          << "result " << i << ", number " << k;
  }
}

TEST(DetectronBoxes, SoftSuppressionIsTheSame) {
  ASSERT_EQ(boxes_cases()["soft_nms"].size(), 3U);
  for (const Json& group : boxes_cases()["soft_nms"]) {
    SCOPED_TRACE(group["method"].get<std::string>());
    ASSERT_EQ(group["score_thresh"].get<float>(), 1e-4F);
    expect_close_rows(
        refined_rows(group["dets"], {{"method", group["method"].get<std::string>()},
                                     {"sigma", group["sigma"].get<float>()},
                                     {"overlap", group["overlap_thresh"].get<float>()}}),
        group["out"]);
  }
}

// The boxes that vote are all candidates; the boxes that they change are those that a suppression
// at 0.5 keeps.
TEST(DetectronBoxes, VotingIsTheSame) {
  ASSERT_EQ(boxes_cases()["box_voting"].size(), 6U);
  for (const Json& group : boxes_cases()["box_voting"]) {
    SCOPED_TRACE(group["method"].get<std::string>());
    const std::vector<std::vector<float>> top = refined_rows(group["all"], {{"overlap", 0.5F}});
    expect_close_rows(top, group["top"]);
    expect_close_rows(refined_rows(group["all"], {{"overlap", 0.5F},
                                                  {"vote", group["method"].get<std::string>()},
                                                  {"vote_overlap", group["thresh"].get<float>()},
                                                  {"vote_beta", group["beta"].get<float>()}}),
                      group["out"]);
  }
}

}  // namespace
}  // namespace lockstep::testing
