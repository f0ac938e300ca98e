// SPDX-License-Identifier: Apache-2.0
// A folder of pictures that has changed since a run began, or differs between processes.
#include <gtest/gtest.h>

#include <filesystem>

#include "graph/file.h"
#include "graph/printable.h"
#include "runtime/state/safetensors.h"
#include "tests/support/pictures.h"
#include "tests/support/program.h"

namespace lockstep::testing {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPicturesConfig = R"(DEVICES: cpu
THREADS: 1
MODEL: {TYPE: mlp, HIDDEN: [8], NUM_CLASSES: 4}
DATA: {NAME: image_folder, IMAGE_SIZE: 8, RESIZE: 8, CROP_SCALE: [0.5, 1]}
TRAIN: {BATCH_SIZE: 4, SNAPSHOT_ITERS: 4}
SOLVER: {BASE_LR: 0.01, MAX_ITER: 2}
)";

class SamePictures : public ::testing::Test {
 protected:
  void SetUp() override {
    write_file(folder_ / "config.yaml", kPicturesConfig);
    draw("pictures", {"a", "b", "c"});
  }
  void draw(const std::string& root, const std::vector<std::string>& classes) const {
    for (const std::string part : {"train", "val"})
      for (const std::string& name : classes)
        for (const std::string number : {"0", "1", "2"}) {
          const fs::path path = picture(root, part + "/" + name + "/" + number);
          fs::create_directories(path.parent_path());
          write_png(path, gradient_image(10, 12, number[0] + 5 * name[0]));
        }
  }
  std::string picture(const std::string& root, const std::string& name) const {
    return folder_ / (root + "/" + name + ".png");
  }
  void rename_class(const std::string& from, const std::string& to) const {
    for (const std::string part : {"pictures/train/", "pictures/val/"})
      fs::rename(folder_ / (part + from), folder_ / (part + to));
  }
  Outcome train(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> all{"train",      folder_ / "config.yaml",
                                 "DATA.ROOT",  folder_ / "pictures",
                                 "OUTPUT_DIR", folder_ / "run"};
    all.insert(all.end(), more.begin(), more.end());
    return run_lockstep(all);
  }
  Outcome resume(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> all{"--resume", "SOLVER.MAX_ITER", "3"};
    all.insert(all.end(), more.begin(), more.end());
    return train(all);
  }
  // Two processes with separate folders: rank 0 has `pictures`, the other has `other`.
  Outcome launch() const {
    write_file(folder_ / "rank.sh",
               "root=pictures; [ $RANK = 1 ] && root=other\nexec " + shell_word(run_path()) +
                   " train " + (folder_ / "config.yaml") + " OUTPUT_DIR " + (folder_ / "ranks") +
                   " DATA.ROOT " + (folder_ / "$root") + "\n");
    return run_lockstep({"launch", "-n", "2", "--", "sh", folder_ / "rank.sh"});
  }
  void expect_launch_says(const std::vector<std::string>& parts) const {
    const Outcome outcome = launch();
    EXPECT_EQ(outcome.exit_code, 2) << outcome.out;
    for (const std::string& part : parts)
      EXPECT_NE((outcome.out + outcome.err).find(part), std::string::npos)
          << "missing '" << part << "' in: " << outcome.out << outcome.err;
  }

  TemporaryFolder folder_;
};

// All labels would change, since a class is numbered by the order of names.
TEST_F(SamePictures, OtherClassesAreNotResumed) {
  ASSERT_EQ(train().exit_code, 0);
  rename_class("a", "d");
  expect_refused(resume(), {"was saved with the classes of DATA.ROOT 3 classes: a, b, c, but now "
                            "it is 3 classes: b, c, d; train without --resume"});
  rename_class("d", "a");
  draw("pictures", {"d"});
  expect_refused(resume(), {"3 classes: a, b, c, but now it is 4 classes: a, b, c, d"});
  fs::remove_all(folder_ / "pictures/train/d");
  fs::remove_all(folder_ / "pictures/val/d");
  EXPECT_EQ(resume().exit_code, 0);
}

// With a thousand names, an error shows the names around the first difference.
TEST_F(SamePictures, OneOfManyClassesIsNamed) {
  std::vector<std::string> many;
  for (int i = 100; i < 200; ++i) many.push_back("kind" + std::to_string(i));
  draw("pictures", many);
  const std::vector<std::string> classes{"MODEL.NUM_CLASSES", "103"};
  ASSERT_EQ(train(classes).exit_code, 0);
  rename_class("kind150", "kind150b");
  const Outcome outcome = resume(classes);
  expect_refused(outcome, {"kind149, kind150, kind151", "kind149, kind150b, kind151"});
  EXPECT_EQ(outcome.err.find("kind110"), std::string::npos) << outcome.err;
}

TEST_F(SamePictures, OtherPicturesAreNotResumed) {
  ASSERT_EQ(train().exit_code, 0);
  fs::remove(picture("pictures", "train/b/1"));
  expect_refused(resume(), {"was saved with the pictures of DATA.ROOT 9 pictures, ",
                            "but now it is 8 pictures, "});
  write_png(picture("pictures", "train/b/7"), gradient_image(10, 12, 1));
  expect_refused(resume(), {"the pictures of DATA.ROOT 9 pictures, ", "now it is 9 pictures, "});
  fs::rename(picture("pictures", "train/b/7"), picture("pictures", "train/b/1"));
  fs::remove(picture("pictures", "val/b/1"));  // held-out pictures are not learnt from
  const Outcome outcome = resume();
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  expect_refused(resume({"DATA.RESIZE", "12"}), {"was saved with DATA.RESIZE 8, but now it is 12"});
}

TEST_F(SamePictures, AFolderMayMove) {
  ASSERT_EQ(train().exit_code, 0);
  fs::rename(folder_ / "pictures", folder_ / "moved");
  const Outcome outcome = resume({"DATA.ROOT", folder_ / "moved"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
}

TEST_F(SamePictures, ACheckpointOfBeforeTheyWereNotedGoesOnAndSaysSo) {
  ASSERT_EQ(train().exit_code, 0);
  const std::string path = folder_ / "run/checkpoint.safetensors";
  Safetensors file = read_safetensors(path);
  for (const char* key : {"the classes of DATA.ROOT", "the pictures of DATA.ROOT", "DATA.RESIZE"})
    EXPECT_EQ(file.metadata.erase(key), 1u) << key;
  std::vector<std::pair<std::string, Tensor>> tensors;
  for (const auto& [name, value] : file.tensors) tensors.emplace_back(name, view_of(value));
  write_safetensors(path, tensors, file.metadata);
  rename_class("a", "d");
  const Outcome outcome = resume();
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find(path + " is of an earlier version, which did not note the classes of "
                                    "DATA.ROOT and the pictures of DATA.ROOT: whether they are "
                                    "still the same is not known"),
            std::string::npos)
      << outcome.out;
}

TEST_F(SamePictures, ProcessesWithOthersAreTold) {
  draw("other", {"a", "b", "z"});
  expect_launch_says(
      {"rank 1 has the classes of DATA.ROOT '3 classes: a, b, z', rank 0 has "
       "'3 classes: a, b, c'; all processes of a run need the same"});
  fs::remove_all(folder_ / "other");
  draw("other", {"a", "b"});
  expect_launch_says({"rank 1 has the classes of DATA.ROOT '2 classes: a, b', rank 0 has "});
  draw("other", {"a", "b", "c"});
  fs::remove(picture("other", "train/c/2"));
  expect_launch_says({"rank 1 has the pictures of DATA.ROOT '8 pictures, ", "'9 pictures, "});
  draw("other", {"c"});
  fs::rename(picture("other", "val/c/2"), picture("other", "val/c/3"));
  expect_launch_says({"rank 1 has the held-out pictures of DATA.ROOT '9 pictures, "});
  fs::rename(picture("other", "val/c/3"), picture("other", "val/c/2"));
  std::vector<std::string> many;
  for (int i = 100; i < 120; ++i) many.push_back("kind" + std::to_string(i));
  draw("pictures", many);
  many[10] += "b";
  draw("other", many);
  expect_launch_says({"kind109, kind110b, kind111", "kind109, kind110, kind111"});
  for (const char* root : {"pictures", "other"}) fs::remove_all(folder_ / root);
  for (const char* root : {"pictures", "other"}) draw(root, {"a", "b", "c"});
  const Outcome alike = launch();
  EXPECT_EQ(alike.exit_code, 0) << alike.err;
}

}  // namespace
}  // namespace lockstep::testing
