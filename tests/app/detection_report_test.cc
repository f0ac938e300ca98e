// SPDX-License-Identifier: Apache-2.0
// The detector part of report.html: numbers, pictures, mistakes and curves.
#include <gtest/gtest.h>

#include <algorithm>

#include "app/report/detections.h"
#include "app/report/pictures.h"
#include "app/report/precision_chart.h"
#include "data/scenes/scenes.h"
#include "tests/support/occurrences.h"

namespace lockstep::testing {
namespace {

void expect_all(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts)
    EXPECT_NE(text.find(part), std::string::npos) << "missing '" << part << "'";
}

std::vector<Detection> right_detections(const Annotations& truth) {
  std::vector<Detection> detections;
  for (const CocoObject& object : truth.objects)
    if (!object.crowd) detections.push_back({object.image, object.category, object.bbox, 0.875});
  return detections;
}

// Generated scenes with a category that has no objects and a name that is HTML.
class DetectionReportTest : public ::testing::Test {
 protected:
  DetectionReportTest() : truth_(scenes_.annotations()), found_(right_detections(truth_)) {
    truth_.categories.push_back({99, "<i>cats</i> & \"dogs\"", {}, {}});
    tested_.iteration = 1200;
    tested_.pictures = static_cast<int64_t>(truth_.images.size());
    tested_.objects.resize(truth_.categories.size());
    for (const CocoObject& object : truth_.objects)
      tested_.objects[static_cast<std::size_t>(object.category)] += !object.crowd;
    for (const CocoCategory& category : truth_.categories) tested_.classes.push_back(category.name);
  }

  std::string page() {
    tested_.scores = evaluate_boxes(truth_, found_);
    const CocoMistakes mistakes = find_mistakes(truth_, found_);
    tested_.mistake_counts = mistakes.counts;
    for (const auto* list : {&mistakes.wrong, &mistakes.missed})
      for (const CocoMistake& mistake : *list) tested_.mistakes.push_back(shown(mistake));
    return html_of(tested_);
  }
  ShownMistake shown(const CocoMistake& mistake) {
    return shown_mistake(mistake, truth_, {found_},
                         scenes_.picture(static_cast<std::size_t>(mistake.image)));
  }

  Scenes scenes_{SceneOptions{.count = 8}};
  Annotations truth_;
  std::vector<Detection> found_;
  DetectionTested tested_;
};

TEST_F(DetectionReportTest, SaysThatAllIsFound) {
  for (std::size_t image = 0; image < 3; ++image)
    tested_.scenes.push_back(shown_scene(truth_, image, {found_}, scenes_.picture(image)));
  const std::string text = page();
  expect_all(
      text, {"After iteration 1,200, on 8 held-out pictures", "<h2>Average precision</h2>",
             "<b>1.000</b><span>AP</span>", "AP at overlap 0.5<", "AP, small objects",
             "AR of 100 detections", ">Precision<", "\noverlap 0.5 1\n0.75 1\n0.9 1<",
             "<th>disc</th>", "<td>AP</td><td>AP50</td><td>AP75</td><td>AR100</td><td>objects</td>",
             "objects</span>", "detections</span>", "000002.jpg"});
  EXPECT_EQ(occurrences(text, "<img "), 6) << "truth beside detections, no mistakes";
  EXPECT_EQ(text.find("Largest mistakes"), std::string::npos);
  for (const char* of_others : {"mask", "keypoint", "Hidden"})
    EXPECT_EQ(text.find(of_others), std::string::npos) << of_others;
  for (const char* from_elsewhere : {" src=\"http", "<link", "url("})
    EXPECT_EQ(text.find(from_elsewhere), std::string::npos) << from_elsewhere;
}

TEST_F(DetectionReportTest, ShowsADashWhereNothingCounts) {
  const std::string text = page();
  const std::string row =
      "<th>&lt;i&gt;cats&lt;/i&gt; &amp; &quot;dogs&quot;</th><td "
      "class=\"bar\"></td><td>-</td><td>-</td><td>-</td><td>-</td><td>0</td>";
  expect_all(text, {row});
  EXPECT_GT(text.find(row), text.find("<th>disc</th>")) << "last";
  EXPECT_EQ(text.find("<i>cats"), std::string::npos);
  expect_all(html_of(DetectionTested{}), {"<b>-</b><span>AP</span>", "no numbers yet"});
}

TEST_F(DetectionReportTest, ShowsTheWorstClassFirst) {
  std::erase_if(found_, [](const Detection& each) { return each.category == 2; });
  const std::string text = page(), worst = "<th>" + tested_.classes[2] + "</th>";
  EXPECT_LT(text.find(worst), text.find("<th>" + tested_.classes[0] + "</th>"));
  expect_all(text, {worst + "<td class=\"bar\"><i style=\"width:0%\"></i></td><td>0.000</td>",
                    "Largest mistakes", tested_.classes[2] + " missed, "});
}

TEST_F(DetectionReportTest, NamesEachMistake) {
  const CocoObject& object = truth_.objects[0];
  found_[0].score = 0.625;
  const std::string name = truth_.categories[static_cast<std::size_t>(object.category)].name;
  const auto what = [&](MistakeKind kind, int64_t detection, int64_t meant) {
    return shown({kind, object.image, detection, meant, 0.25}).what;
  };
  EXPECT_EQ(what(MistakeKind::background, 0, -1), name + ", no object there");
  EXPECT_EQ(what(MistakeKind::badly_placed, 0, 0), name + ", overlap 0.25");
  EXPECT_EQ(what(MistakeKind::duplicate, 0, 0), name + ", found already");
  EXPECT_EQ(what(MistakeKind::other_class, 0, 0), name + ", is " + name);
  const ShownMistake missed = shown({MistakeKind::missed, object.image, -1, 0, 0});
  EXPECT_TRUE(missed.what.starts_with(name + " missed, ")) << missed.what;
  EXPECT_EQ(missed.score, -1);
  ASSERT_EQ(missed.boxes.size(), 1U);
  EXPECT_TRUE(missed.boxes[0].dashed);
  const ShownMistake wrong = shown({MistakeKind::duplicate, object.image, 0, 0, 1});
  EXPECT_EQ(wrong.score, 0.625);
  ASSERT_EQ(wrong.boxes.size(), 2U);
  EXPECT_EQ(wrong.boxes[1].label, name + " 0.62");
  EXPECT_LT(wrong.image.width, Scenes::kSide) << "cropped";
  for (std::size_t k = 0; k < 4; ++k) {
    EXPECT_GE(wrong.boxes[1].corners[k], 0);
    EXPECT_LE(wrong.boxes[1].corners[k], static_cast<float>(wrong.image.width));
  }
  expect_all(html_of(std::vector{missed, wrong}), {"<span>score 0.62</span>", "found already"});
}

TEST_F(DetectionReportTest, ShowsTheBestDetectionsOfAScene) {
  found_.clear();
  for (int i = 0; i < 20; ++i)
    found_.push_back({i % 2, 1, {10.0 * i, 5, 20, 20}, 0.05 * (1 + (7 * i) % 20)});
  ShownScene scene =
      shown_scene(truth_, 1, {found_}, Image{scenes_.picture(1)}, {.least_score = 0.4, .most = 3});
  EXPECT_EQ(scene.truth.size(), truth_.objects_of(1).size());
  std::vector<std::string> labels;
  for (const DrawnBox& box : scene.found) labels.push_back(box.label);
  EXPECT_EQ(labels,
            (std::vector<std::string>{tested_.classes[1] + " 0.80", tested_.classes[1] + " 0.90",
                                      tested_.classes[1] + " 1.00"}));
  scene = shown_scene(truth_, 1, {found_}, scenes_.picture(1), {.classes = false, .side = 50});
  EXPECT_EQ(scene.found.back().label, "1.00");
  EXPECT_LE(scene.image.width, 50);
}

TEST(PrecisionChart, IsTheMeanOverClassesWithObjects) {
  CocoScores scores(3);
  for (std::size_t r = 0; r < CocoScores::kRecalls; ++r)
    for (std::size_t category = 0; category < 2; ++category)
      scores.precision[scores.precision_place(5, r, category, 0, 2)] =
          category == 0 ? 1 : (r <= 50 ? 0.5 : 0);
  const Chart chart = precision_chart(scores);
  ASSERT_EQ(chart.series.size(), 3U);
  EXPECT_TRUE(chart.series[0].points.empty());
  EXPECT_EQ(chart.series[1].name, "0.75");
  ASSERT_EQ(chart.series[1].points.size(), CocoScores::kRecalls);
  EXPECT_EQ(chart.series[1].points[50], std::pair(0.5, 0.75));
  EXPECT_EQ(chart.series[1].points[51].second, 0.5);
  EXPECT_EQ(chart.series[0].name, "overlap 0.5");
  EXPECT_EQ(precision_chart(scores, "Precision of keypoints", "similarity").series[0].name,
            "similarity 0.5");
}

TEST(ProposalReport, ShowsRecallBySize) {
  ProposalsTested tested;
  tested.few = {100, {0.5, -1, 0.25, 0.75}, {0.875, -1, 0.8125, 0.9375}};
  tested.many = {1000, {0.625, -1, 0.375, 0.8125}, {1, -1, 1, 1}};
  tested.pictures = 1;
  expect_all(html_of(tested),
             {"on 1 held-out picture.", "<b>0.500</b><span>AR of 100 proposals",
              "<b>0.625</b><span>AR of 1,000 proposals", "<b>0.875</b><span>recall at 0.5, of 100",
              "<th>small objects</th><td>-</td><td>-</td><td>-</td><td>-</td>",
              "<th>large objects</th><td>0.750</td><td>0.938</td><td>0.812</td><td>1.000</td>"});
}

}  // namespace
}  // namespace lockstep::testing
