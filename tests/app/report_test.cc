// SPDX-License-Identifier: Apache-2.0
// report.html of runs that are running, have ended, were resumed or failed.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>

#include "app/format.h"
#include "app/html.h"
#include "app/report/chart.h"
#include "app/report/classes.h"
#include "app/train/flops.h"
#include "graph/printable.h"
#include "lockstep/data_parallel.h"
#include "lockstep/models.h"
#include "lockstep/operators.h"
#include "lockstep/optimizers.h"
#include "tests/support/occurrences.h"
#include "tests/support/pictures.h"
#include "tests/support/training_command.h"

namespace lockstep::testing {
namespace {

namespace fs = std::filesystem;

void expect_parts(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts)
    EXPECT_NE(text.find(part), std::string::npos) << "missing '" << part << "'";
}

class ReportTest : public TrainingCommand {
 protected:
  std::string report(const std::string& run) { return read_file(folder / (run + "/report.html")); }
};

constexpr const char* kRefresh = "http-equiv=\"refresh\"";

TEST_F(ReportTest, SaysWhatTheRunDid) {
  ASSERT_EQ(train("run", {"TEST.ITERS", "20"}).exit_code, 0);
  const std::string page = report("run");
  expect_parts(page,
               {"mlp on digits", "Finished 20", "<b>60</b><span>of 60 iterations", "held-out loss",
                "training time", "best, at iteration ", "FLOPs per picture", "</i>held out",
                "data:image/png;base64,", "Most frequent confusions", "classified as",
                escaped(shell_word(run_path())) + " train", "oneDNN", " cores, ",
                "prefers-color-scheme: dark", "name=\"viewport\"", "<h2>Plan</h2>", "A step takes ",
                escaped(shell_word(folder / "run/config.yaml") + " --format html -o ")});
  // 784 x 32 + 32 x 16 + 16 x 10 products; the parameters include biases as well.
  expect_parts(page, {"<b>51,520</b>", "<b>25,818</b>"});
  // The loss is shown at 12 points, three of them with a held-out result as well.
  EXPECT_EQ(occurrences(page, "\nheld out "), 2 * 3) << "of loss and accuracy";
  EXPECT_EQ(page.find(kRefresh), std::string::npos);
  for (const char* from_elsewhere : {" src=\"http", "<link", "@import", "url("})
    EXPECT_EQ(page.find(from_elsewhere), std::string::npos) << from_elsewhere;
}

// The network's confidence for each mistake that is shown.
std::vector<double> confidences(const std::string& page) {
  std::vector<double> sure;
  for (std::size_t at = page.find(", classified as "); at != page.npos;
       at = page.find(", classified as ", at + 1))
    sure.push_back(std::atof(page.c_str() + page.find(", ", at + 2) + 2));
  return sure;
}

TEST_F(ReportTest, ShowsTheSurestMistakesFirstWhateverTheReplicas) {
  std::string pictures;
  for (const char* devices : {"cpu", "cpu*3"}) {
    const Outcome outcome = train(devices, {"--devices", devices, "SOLVER.MAX_ITER", "1",
                                            "SOLVER.BASE_LR", "0", "TRAIN.BATCH_SIZE", "12"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const std::string page = report(devices);
    const std::size_t from = page.find("<div class=\"samples\">"), to = page.find("</div>", from);
    const std::vector<double> sure = confidences(page.substr(from, to - from));
    EXPECT_GT(sure.size(), 10u);
    EXPECT_TRUE(std::is_sorted(sure.rbegin(), sure.rend()));
    if (pictures.empty()) pictures = page.substr(from, to - from);
    EXPECT_EQ(page.substr(from, to - from), pictures) << devices;
  }
}

TEST_F(ReportTest, ShowsOnlySettingsThatAreNotDefault) {
  ASSERT_EQ(train("run", {"SOLVER.MAX_ITER", "5", "SOLVER.MOMENTUM", "0.5"}).exit_code, 0);
  const std::string page = report("run");
  expect_parts(page, {"<th>SOLVER.MOMENTUM</th><td>0.5</td>", "<th>TRAIN.BATCH_SIZE</th>"});
  for (const char* key : {"SOLVER.GAMMA", "SOLVER.NESTEROV", "DATA.FLIP", "OUTPUT_DIR"})
    EXPECT_EQ(page.find(std::string("<th>") + key), std::string::npos) << key;
}

TEST_F(ReportTest, IsThereWhileTheRunGoesOn) {
  Program run({"train", config(), "OUTPUT_DIR", folder / "run", "SOLVER.MAX_ITER", "1000000",
               "TRAIN.LOG_ITERS", "50"});
  ASSERT_TRUE(run.wait_for("iter     50"));
  std::string page = report("run");
  expect_parts(page, {kRefresh, "Running", "of 1,000,000 iterations", "<progress"});
  // The page is complete at every moment while the run rewrites it.
  const auto enough = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (page.find(" left.") == page.npos && std::chrono::steady_clock::now() < enough) {
    page = report("run");
    ASSERT_NE(page.find("</html>"), page.npos);
  }
  expect_parts(page, {" left.", "<path class=\"line blue\""});
  run.send_signal(SIGINT);
  EXPECT_EQ(run.finish().exit_code, 130);
  page = report("run");
  expect_parts(page, {"interrupted after iteration ", "--resume " + (folder / "run")});
  EXPECT_EQ(page.find(kRefresh), std::string::npos);
}

TEST_F(ReportTest, OfAResumedRunKeepsItsEarlierCurve) {
  ASSERT_EQ(train("run", {"SOLVER.MAX_ITER", "20"}).exit_code, 0);
  ASSERT_EQ(train("run", {"--resume"}).exit_code, 0);
  const std::string page = report("run");
  expect_parts(page, {"resumed after iteration 20", "<b>60</b><span>of 60 iterations"});
  EXPECT_EQ(occurrences(page, "<title>iteration 5\nrate "), 0) << "one curve has no name";
  EXPECT_EQ(occurrences(page, "<title>iteration 5\n"), 4)
      << "of the earlier session, in every chart";
  EXPECT_EQ(occurrences(page, "<title>iteration 60\n"), 4);
}

TEST_F(ReportTest, SaysWhyTheRunFailed) {
  expect_refused(train("run", {"SOLVER.BASE_LR", "1e6"}), {"the loss is"});
  const std::string page = report("run");
  expect_parts(page, {"class=\"state failed\"", "Ended by an error: the loss is"});
  EXPECT_EQ(page.find(kRefresh), std::string::npos);
}

TEST_F(ReportTest, IsWrittenByOneOfSeveralProcesses) {
  const Outcome outcome = run_lockstep({"launch", "-n", "2", "--", "lockstep", "train", config(),
                                        "OUTPUT_DIR", folder / "run", "DEVICES", "cpu"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  expect_parts(report("run"), {"cpu in each of 2 processes", "that process 0 tested"});
}

// Classes have the names of folders, which may contain HTML's special characters.
TEST_F(ReportTest, NamesClasses) {
  for (const char* part : {"train", "val"})
    for (const char* name : {"cats & <dogs>", "birds"}) {
      const std::string place = folder / (std::string("pictures/") + part + "/" + name);
      fs::create_directories(place);
      for (int i = 0; i < 4; ++i)
        write_png(place + "/" + std::to_string(i) + ".png", gradient_image(20 + i, 20));
    }
  const Outcome outcome = train(
      "run", {"DATA.NAME", "image_folder", "DATA.ROOT", folder / "pictures", "MODEL.NUM_CLASSES",
              "2", "DATA.IMAGE_SIZE", "16", "TRAIN.BATCH_SIZE", "8", "SOLVER.MAX_ITER", "4"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  // All pictures are equal, so every prediction names the same class.
  const std::string page = report("run");
  expect_parts(page, {"<span>cats &amp; &lt;dogs&gt;</span>", "<span>birds</span>",
                      " <span>classified as</span> ", "4 of 4 ", "confidence; held-out picture "});
  EXPECT_EQ(page.find("<dogs>"), std::string::npos);
}

TEST(Mixups, ComeWithTheMostFirst) {
  const std::vector<std::vector<int64_t>> confusion{{7, 1, 2}, {5, 0, 2}, {0, 0, 9}};
  const auto list = mixups(confusion, 3);
  ASSERT_EQ(list.size(), 3u);
  EXPECT_EQ(list[0].count, 5);
  EXPECT_EQ(list[0].of, 7);
  EXPECT_EQ(std::pair(list[1].label, list[1].guess), std::pair(std::size_t{1}, std::size_t{2}))
      << "2 of 7 precedes 2 of 10";
  EXPECT_TRUE(mixups({{3, 0}, {0, 3}}, 3).empty());
}

TEST(Charts, HaveAnAxisForEveryLoss) {
  ChartAxis axis(Scale::log);
  for (double loss : {2.0, 0.02, 0.0, -1.0}) axis.include(loss);
  EXPECT_DOUBLE_EQ(axis.at(0.2), 0.5);
  EXPECT_EQ(axis.at(0), 0) << "no logarithm: at the low end";
  EXPECT_EQ(axis.ticks().size(), 7u) << "0.02, 0.05, .. 2";
  EXPECT_TRUE(ChartAxis(Scale::log).empty());
  for (Scale scale : {Scale::linear, Scale::from_zero, Scale::log}) {
    ChartAxis same(scale);
    same.include(3);
    same.include(3);
    EXPECT_TRUE(same.at(3) >= 0 && same.at(3) <= 1);
    EXPECT_FALSE(same.ticks().empty());
  }
  EXPECT_EQ(short_number(1234567), "1,234,567");
  EXPECT_EQ(short_number(-1234), "-1,234");
  EXPECT_EQ(short_number(-123456), "-123,456");
  EXPECT_EQ(short_number(0.0123456), "0.01235");
}

TEST(Charts, OfLongRunsStaySmallAndKeepSpikes) {
  Series loss{"loss", "blue", {}};
  for (int i = 1; i <= 100000; ++i) loss.points.emplace_back(i, i == 31415 ? 77 : 1);
  const std::string chart = html_of(Chart{"Loss", "iteration", {loss}, Scale::from_zero});
  EXPECT_LT(chart.size(), 60000u);
  // 77 on an axis up to 80.
  EXPECT_NE(chart.find(" 37.5L"), std::string::npos);
  expect_parts(html_of(Chart{"Loss", "iteration", {{"loss", "blue", {}}}}), {"no numbers yet"});
}

// The values of torchvision's tables, in 1e9.
TEST(Arithmetic, CountsAsPublished) {
  for (const auto& [name, published] : {std::pair{"resnet18", 1.814},
                                        {"resnet50", 4.089},
                                        {"resnext50_32x4d", 4.23},
                                        {"vgg16", 15.47},
                                        {"mobilenet_v2", 0.301}}) {
    const TrainingModel model = build_data_parallel_model(
        all_ops(), model_named(name, published_options(name)), MomentumSgd{});
    const auto count = multiply_adds(model, {3, 224, 224});
    ASSERT_TRUE(count) << name;
    EXPECT_NEAR(static_cast<double>(*count) / 1e9, published, 0.005 * published) << name;
    EXPECT_FALSE(multiply_adds(model, {3})) << "no picture";
  }
}

}  // namespace
}  // namespace lockstep::testing
