// SPDX-License-Identifier: Apache-2.0
// A user's folder of pictures: counted pictures, skipped pictures, and unreadable pictures.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "data/labelled_images.h"
#include "graph/file.h"
#include "runtime/state/safetensors.h"
#include "tests/support/occurrences.h"
#include "tests/support/pictures.h"
#include "tests/support/program.h"

namespace lockstep::testing {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFolderConfig = R"(DEVICES: cpu*2
THREADS: 1
MODEL: {TYPE: mlp, HIDDEN: [8], NUM_CLASSES: 3}
DATA: {NAME: image_folder, IMAGE_SIZE: 8, RESIZE: 8, CROP_SCALE: [0.5, 1]}
TRAIN: {BATCH_SIZE: 6, SNAPSHOT_ITERS: 4, LOG_ITERS: 3}
TEST: {ITERS: 5}
SOLVER: {BASE_LR: 0.01, MAX_ITER: 9, STEP_SIZE: 100}
)";

class PictureFolderCommand : public ::testing::Test {
 protected:
  void SetUp() override {
    write_file(folder_ / "config.yaml", kFolderConfig);
    for (const std::string& name : names())
      write_png(picture(name), gradient_image(10, 12, name.back() + 5 * name[name.size() - 3]));
  }
  // Four training pictures and three held-out pictures of each class.
  static std::vector<std::string> names() {
    std::vector<std::string> all;
    for (const std::string kind : {"a", "b", "c"})
      for (int i = 0; i < 4; ++i) {
        all.push_back("train/" + kind + "/" + std::to_string(i));
        if (i < 3) all.push_back("val/" + kind + "/" + std::to_string(i));
      }
    return all;
  }
  std::string picture(const std::string& name) const {
    const std::string path = folder_ / ("pictures/" + name + ".png");
    fs::create_directories(fs::path(path).parent_path());
    return path;
  }
  void put(const std::string& name, const std::string& bytes = "no picture") const {
    const fs::path path = folder_ / ("pictures/" + name);
    fs::create_directories(path.parent_path());
    write_file(path.string(), bytes);
  }
  // Cuts the body and keeps the header.
  void cut_body(const std::string& name) const {
    const std::string bytes = read_file(picture(name));
    write_file(picture(name), bytes.substr(0, bytes.size() - 20));
  }

  std::vector<std::string> words(const std::string& command, const std::string& run,
                                 const std::vector<std::string>& more = {}) const {
    std::vector<std::string> all{command,      folder_ / "config.yaml",
                                 "DATA.ROOT",  folder_ / "pictures",
                                 "OUTPUT_DIR", folder_ / run};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  Outcome train(const std::string& run, const std::vector<std::string>& more = {}) const {
    return run_lockstep(words("train", run, more));
  }
  std::string checkpoint(const std::string& run) const {
    return read_file(folder_ / (run + "/checkpoint.safetensors"));
  }
  static void expect_says(const std::string& text, const std::vector<std::string>& parts) {
    for (const std::string& part : parts)
      EXPECT_NE(text.find(part), std::string::npos) << "missing '" << part << "' in: " << text;
  }

  TemporaryFolder folder_;
};

const std::vector<std::string> kSkip{"TRAIN.SKIP_BAD_IMAGES", "true"};

TEST_F(PictureFolderCommand, SaysHowManyPicturesThereAreAndWhatIsLeftOut) {
  for (const char* name : {"train/a/1.tif", "train/b/2.tif", "train/b/notes.txt", "val/c/1.avif",
                           "train/c/more/1.png", "train/c/more/2.png", "train/c/._3.png"})
    put(name);
  const Outcome trained = train("run", {"MODEL.NUM_CLASSES", "5"});
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  const std::string of_training = "left out of '" + (folder_ / "pictures/train") +
                                  "': 5 files: 2 .tif, 1 .txt, 2 in folders below a class";
  const std::string of_test = "left out of '" + (folder_ / "pictures/val") + "': 1 file: 1 .avif";
  expect_says(trained.out,
              {"12 pictures of 3 classes to train on, 9 pictures of 3 classes to test on",
               "MODEL.NUM_CLASSES is 5, but there are 3 classes", of_training, of_test});
  expect_says(read_file(folder_ / "run/report.html"),
              {"<th>to train on</th><td>12 pictures of 3 classes</td>",
               "<th>held out</th><td>9 pictures of 3 classes</td>"});
  const Outcome tested = run_lockstep(words("test", "run", {"MODEL.NUM_CLASSES", "5"}));
  ASSERT_EQ(tested.exit_code, 0) << tested.err;
  expect_says(tested.out, {of_test});
  fs::create_directories(folder_ / "pictures/train/only");
  put("train/only/1.tif");
  expect_refused(train("run"), {"train/only' contains no .jpg", "left out 1 file: 1 .tif"});
}

TEST_F(PictureFolderCommand, InferSaysWhatItTakesOfAFolder) {
  ASSERT_EQ(train("run").exit_code, 0);
  for (const char* name : {"val/a/1.tif", "val/a/._2.png", "val/.DS_Store"}) put(name);
  const Outcome inferred = run_lockstep({"infer", folder_ / "run", folder_ / "pictures/val"});
  ASSERT_EQ(inferred.exit_code, 0) << inferred.err;
  EXPECT_EQ(occurrences(inferred.out, ".png"), 9) << inferred.out;
  expect_says(inferred.err,
              {"pictures/val: 9 pictures, 9 of them in folders below; left out 1 file: "
               "1 .tif\n"});
}

TEST_F(PictureFolderCommand, TooFewClassesAreRefused) {
  expect_refused(train("run", {"MODEL.NUM_CLASSES", "2"}),
                 {"MODEL.NUM_CLASSES is 2 but the data has 3 classes"});
  EXPECT_FALSE(fs::exists(folder_ / "run"));
}

// All bad headers are named together, before the first step.
TEST_F(PictureFolderCommand, BrokenHeadersAreNamedBeforeTheFirstStep) {
  put("train/a/2.png", "");
  put("train/c/1.png", read_file(picture("train/c/1")).substr(0, 20));
  put("val/b/2.png", "no picture");
  const std::vector<std::string> names{"train/a/2.png: is empty",
                                       "train/c/1.png: a PNG file without a whole header",
                                       "val/b/2.png: not a JPEG, PNG"};
  std::vector<std::string> all = names;
  all.push_back("3 of 21 pictures cannot be read; TRAIN.SKIP_BAD_IMAGES true goes on without");
  const Outcome refused = train("run");
  expect_refused(refused, all);
  EXPECT_EQ(refused.out.find("iter"), std::string::npos) << refused.out;
  EXPECT_FALSE(fs::exists(folder_ / "run"));
  for (int i = 0; i < 30; ++i) put("train/b/x" + std::to_string(i) + ".jpg");
  expect_refused(train("run"), {"33 of 51 pictures", "\n  and 13 more"});
}

// In a step or in a test.
TEST_F(PictureFolderCommand, ABrokenBodyEndsTheRunByName) {
  cut_body("val/b/1");
  const Outcome tested = train("run");
  expect_refused(tested, {"val/b/1.png", "TRAIN.SKIP_BAD_IMAGES true goes on without"});
  expect_says(tested.out, {"iter      3"});
  EXPECT_TRUE(fs::exists(folder_ / "run/checkpoint.safetensors"));
  cut_body("train/b/1");
  expect_refused(train("next"), {"train/b/1.png", "TRAIN.SKIP_BAD_IMAGES true goes on without"});
}

TEST_F(PictureFolderCommand, BadPicturesAreSkippedCountedAndNamedOnce) {
  put("train/a/2.png", "");
  cut_body("train/c/1");
  cut_body("val/b/1");
  // The images 2 and 9, drawn in nine steps of six.
  const EpochOrder order(12, 3);
  int replaced = 0;
  for (int64_t at = 0; at < 9 * 6; ++at) replaced += order.at(at) == 2 || order.at(at) == 9;
  const std::string count = join("2 to train on, replaced ", replaced, " times: ");
  std::vector<std::string> more = kSkip;
  const Outcome skipped = train("run", more);
  ASSERT_EQ(skipped.exit_code, 0) << skipped.err;
  expect_says(skipped.out, {"skipped: " + (folder_ / "pictures/train/a/2.png: "),
                            "skipped: " + (folder_ / "pictures/train/c/1.png: "),
                            "left out of the test: " + (folder_ / "pictures/val/b/1.png: "),
                            "without 1 of 9 pictures", count, "; 1 left out of the tests: "});
  EXPECT_EQ(occurrences(skipped.out, "skipped: "), 2) << skipped.out;
  EXPECT_EQ(occurrences(skipped.out, "left out of the test: "), 1) << "of two tests";
  expect_says(read_file(folder_ / "run/report.html"),
              {"<th>pictures that cannot be read</th><td>" + count});
  // The bits do not depend on the number of readers, a resume, or the number of processes.
  for (const char* readers : {"1", "7"}) {
    more = kSkip;
    more.insert(more.end(), {"DATA.THREADS", readers});
    ASSERT_EQ(train(readers, more).exit_code, 0);
    EXPECT_TRUE(checkpoint(readers) == checkpoint("run")) << readers;
  }
  more = kSkip;
  more.insert(more.end(), {"SOLVER.MAX_ITER", "4"});
  ASSERT_EQ(train("parts", more).exit_code, 0);
  more = kSkip;
  more.push_back("--resume");
  ASSERT_EQ(train("parts", more).exit_code, 0);
  EXPECT_TRUE(read_safetensors(folder_ / "parts/checkpoint.safetensors").tensors ==
              read_safetensors(folder_ / "run/checkpoint.safetensors").tensors);
  std::vector<std::string> launched{"launch", "-n", "2", "--", "lockstep"};
  for (const std::string& word : words("train", "ranks", kSkip)) launched.push_back(word);
  launched.insert(launched.end(), {"DEVICES", "cpu"});
  const Outcome ranks = run_lockstep(launched);
  ASSERT_EQ(ranks.exit_code, 0) << ranks.err;
  EXPECT_TRUE(read_safetensors(folder_ / "ranks/checkpoint.safetensors").tensors ==
              read_safetensors(folder_ / "run/checkpoint.safetensors").tensors);
  EXPECT_EQ(occurrences(ranks.out, "skipped: "), 2) << ranks.out;
  expect_says(ranks.out, {count, "; 1 left out of the tests: "});
}

// The result is the same as without the bad pictures.
TEST_F(PictureFolderCommand, HeldOutPicturesThatAreBadDoNotCount) {
  ASSERT_EQ(train("run").exit_code, 0);
  const auto score = [&](const std::vector<std::string>& more) {
    std::vector<std::string> all = more;
    all.insert(all.end(), {"--out", folder_ / "scores"});
    const Outcome tested = run_lockstep(words("test", "run", all));
    EXPECT_EQ(tested.exit_code, 0) << tested.err;
    return nlohmann::json::parse(read_file(folder_ / "scores/scores.json"));
  };
  const std::string whole = read_file(picture("val/b/1"));
  fs::remove(picture("val/b/1"));
  const auto without = score({});
  write_file(picture("val/b/1"), whole);
  cut_body("val/b/1");
  expect_refused(run_lockstep(words("test", "run")), {"val/b/1.png"});
  auto with_bad = score(kSkip);
  EXPECT_EQ(with_bad["left_out"].size(), 1U);
  EXPECT_NE(with_bad["left_out"][0].get<std::string>().find("val/b/1.png"), std::string::npos);
  EXPECT_EQ(with_bad["pictures"], 8);
  EXPECT_NEAR(with_bad["loss"].get<double>(), without["loss"].get<double>(), 1e-12);
  EXPECT_EQ(with_bad["confusion"], without["confusion"]);
  EXPECT_EQ(with_bad["accuracy"], without["accuracy"]);
  for (const std::string& name : names())
    if (name.starts_with("val")) put(name + ".png", "");
  expect_refused(run_lockstep(words("test", "run", kSkip)),
                 {"none of the 9 held-out pictures can be read"});
}

// Before the seconds of generation, and before the line that begins a run.
TEST(GeneratedData, IsAnnounced) {
  const TemporaryFolder folder;
  write_file(folder / "config.yaml",
             "MODEL: {TYPE: mlp, HIDDEN: [8]}\nDATA: {TRAIN_SIZE: 1200, TEST_SIZE: 100}\n"
             "SOLVER.MAX_ITER: 1\nTHREADS: 1\n");
  const std::vector<std::string> words{"train", folder / "config.yaml", "OUTPUT_DIR",
                                       folder / "run"};
  const Outcome trained = run_lockstep(words);
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  EXPECT_TRUE(trained.out.starts_with("generating 1,200 digits to train on and 100 to test on\n"))
      << trained.out;
}

}  // namespace
}  // namespace lockstep::testing
