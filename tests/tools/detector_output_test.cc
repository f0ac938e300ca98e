// SPDX-License-Identifier: Apache-2.0
// Output files of a detector's commands next to the user's files.
#include <gtest/gtest.h>

#include <filesystem>

#include "data/image.h"
#include "data/scenes/scenes.h"
#include "lockstep/error.h"
#include "tests/tools/detector_command.h"

namespace lockstep::testing {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string> kOneStep{"SOLVER.MAX_ITER", "1", "SCENES.TRAIN", "8",
                                        "SCENES.VAL",      "1", "TRAIN.SCALES", "[64]"};

// A picture's labels and other versions may be next to the picture.
TEST_F(DetectorCommand, InferReplacesItsOwnFilesOnly) {
  expect_trained("run", kOneStep);
  const Scenes scenes({.count = 3});
  make_folder(folder_ / "photos");
  for (const char* name : {"a", "b"})
    write_file(folder_ / join("photos/", name, ".jpg"), jpeg_of(scenes.picture(*name - 'a')));
  const auto infer = [&](const std::string& out, const std::string& threshold = "0.0") {
    return run_lockstep({"infer", run_folder("run"), folder_ / "photos/a.jpg",
                         folder_ / "photos/b.jpg", "--out", folder_ / out, "--threshold",
                         threshold});
  };
  for (const char* name : {"a.png", "b.json"}) {
    const std::string path = folder_ / join("photos/", name);
    write_file(path, "my own");
    expect_refused(infer("photos"), {"--out: '" + path, "' would be overwritten, but is not a file",
                                     "choose an empty folder"});
    EXPECT_EQ(read_file(path), "my own");
    EXPECT_EQ(std::distance(fs::directory_iterator(folder_ / "photos"), {}), 3) << "wrote a file";
    fs::remove(path);
  }
  // A link in the folder points to the user's file.
  make_folder(folder_ / "linked");
  fs::create_symlink("../photos/b.jpg", folder_ / "linked/a.png");
  expect_refused(infer("linked"), {"linked/a.png", "is one of the pictures"});
  // The command replaces its own files, also from other runs and in the folder of the pictures.
  for (const char* out : {"seen", "photos"}) {
    ASSERT_EQ(infer(out).exit_code, 0);
    const std::string first = read_file(folder_ / join(out, "/a.json"));
    ASSERT_EQ(infer(out, "1.0").exit_code, 0);
    EXPECT_NE(read_file(folder_ / join(out, "/a.json")), first);
    ASSERT_EQ(infer(out).exit_code, 0);
    EXPECT_EQ(read_file(folder_ / join(out, "/a.json")), first);
  }
  write_file(folder_ / "seen/b.json", "corrected by hand");
  expect_refused(infer("seen"), {"seen/b.json' would be overwritten", "or was changed since"});
  EXPECT_EQ(read_file(folder_ / "seen/b.json"), "corrected by hand");
}

// Under any name, results do not replace the annotations.
TEST_F(DetectorCommand, ATestKeepsTheAnnotationsThatItReads) {
  expect_trained("run", kOneStep);
  ASSERT_EQ(run_lockstep({"scenes", "--images", "4", "--out", folder_ / "mine"}).exit_code, 0);
  const std::string truth = read_file(folder_ / "mine/annotations.json");
  const auto test = [&](const std::string& set, const std::string& name, const std::string& out) {
    return run("test", "run",
               {"DATASETS",
                "{" + set + ": {IMAGES: " + (folder_ / "mine/images") +
                    ", ANNOTATIONS: " + (folder_ / name) + "}}",
                "TEST.DATASETS", "[" + set + "]", "--weights",
                run_folder("run") + "/checkpoint.safetensors", "--out", folder_ / out});
  };
  make_folder(folder_ / "D");
  for (const char* name : {"bbox_mine_results.json", "scores.json"}) {
    const std::string path = join("D/", name);
    write_file(folder_ / path, truth);
    expect_refused(test("mine", path, "D"),
                   {"--out: writing '", path, "' would overwrite '", path, "choose another name"});
    EXPECT_TRUE(read_file(folder_ / path) == truth);
    EXPECT_EQ(std::distance(fs::directory_iterator(folder_ / "D"), {}), 1) << "wrote another file";
    // Results in another folder are unaffected.
    for (int i = 0; i < 2; ++i) EXPECT_EQ(test("mine", path, "E").exit_code, 0);
    EXPECT_TRUE(read_file(folder_ / path) == truth);
    fs::remove_all(folder_ / "D");
    make_folder(folder_ / "D");
  }
}

TEST_F(DetectorCommand, ATestReplacesItsOwnFilesOnly) {
  expect_trained("run", kOneStep);
  const auto test = [&](const std::string& out) {
    return run("test", "run", {"--out", folder_ / out});
  };
  const std::string step = run_folder("run") + "/step.onnx", content = read_file(step);
  make_folder(folder_ / "linked");
  for (const char* name : {"bbox_scenes_val_results.json", "scores.json"}) {
    const std::string path = folder_ / join("linked/", name);
    fs::create_symlink(step, path);
    expect_refused(test("linked"),
                   {"--out: '" + path, "' would be overwritten, but is not a file"});
    EXPECT_TRUE(read_file(step) == content);
    fs::remove(path);
    EXPECT_TRUE(fs::is_empty(folder_ / "linked"));
  }
  for (int i = 0; i < 2; ++i) EXPECT_EQ(test("seen").exit_code, 0);
  write_file(folder_ / "seen/bbox_scenes_val_results.json", "[]");
  expect_refused(test("seen"), {"seen/bbox_scenes_val_results.json' would be overwritten",
                                "or was changed since"});
  // The default folder without --out belongs to the command.
  for (int i = 0; i < 2; ++i) EXPECT_EQ(run("test", "run").exit_code, 0);
}

}  // namespace
}  // namespace lockstep::testing
