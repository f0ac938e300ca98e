// SPDX-License-Identifier: Apache-2.0
// Commands that read weights of other networks: train, test, weights.
#include <filesystem>
#include <nlohmann/json.hpp>

#include "graph/printable.h"
#include "tests/support/pictures.h"
#include "tests/tools/detector_command.h"
#include "tests/weights/published.h"

namespace lockstep::testing {
namespace {

namespace fs = std::filesystem;

class WeightsCommandTest : public DetectorCommand {
 protected:
  StateValues saved(const std::string& into) const {
    return read_safetensors(run_folder(into) + "/checkpoint.safetensors").tensors;
  }
  // One iteration at rate 0 keeps the values that the run started with.
  std::vector<std::string> unchanged(std::vector<std::string> more) const {
    more.insert(more.end(), {"SOLVER.MAX_ITER", "1", "SOLVER.BASE_LR", "0"});
    return more;
  }
};

TEST_F(WeightsCommandTest, AFrozenBodyNeedsWeights) {
  for (const std::vector<std::string>& keys :
       {std::vector<std::string>{"TRAIN.FREEZE_AT", "2"}, {"TRAIN.FREEZE_CONV_BODY", "true"}})
    expect_refused(run("train", "run", keys),
                   {"TRAIN.WEIGHTS is empty", keys[0], "TRAIN.FREEZE_RANDOM"});
  EXPECT_FALSE(fs::exists(run_folder("run")));
  const Outcome meant =
      run("train", "run", unchanged({"TRAIN.FREEZE_AT", "2", "TRAIN.FREEZE_RANDOM", "true"}));
  EXPECT_EQ(meant.exit_code, 0) << meant.err;
}

TEST_F(WeightsCommandTest, FilesThatAreNoWeightsAreExplained) {
  expect_refused(run("train", "run",
                     {"TRAIN.WEIGHTS", "https://host/detectron/a/R-50.pkl", "DOWNLOAD_CACHE",
                      folder_ / "cache"}),
                 {"never fetched", folder_ / "cache/a/R-50.safetensors", "to_safetensors.py"});
  expect_refused(run("train", "run", {"TRAIN.WEIGHTS", folder_ / "none.safetensors"}),
                 {"none.safetensors"});
  expect_refused(run("train", "run", {"TRAIN.WEIGHTS", folder_ / "R-50.pkl"}),
                 {"R-50.pkl", "pickle", "to_safetensors.py"});
  expect_refused(
      run("test", "run",
          {"TEST.WEIGHTS", "https://host/R-50.pkl", "DOWNLOAD_CACHE", folder_ / "cache"}),
      {"never fetched", folder_ / "cache/R-50.safetensors"});
  EXPECT_FALSE(fs::exists(folder_ / "run"));
  expect_refused(run_lockstep({"weights", folder_ / "none.safetensors"}), {"none.safetensors"});
  expect_refused(run_lockstep({"weights", folder_ / "x.safetensors", "NUM_GPUS", "1"}),
                 {"need --for"});
}

// The last layers of a detector of four classes are renewed for seven; all other tensors are kept.
TEST_F(WeightsCommandTest, ADetectorOfFourClassesStartsOneOfSeven) {
  expect_trained("four", {"SOLVER.MAX_ITER", "4"});
  for (const char* set : {"train", "val"}) {
    std::vector<std::string> words{"scenes", "--images", "6", "--out", folder_ / set};
    if (set == std::string("val")) words.emplace_back("--val");
    ASSERT_EQ(run_lockstep(words).exit_code, 0);
    const std::string path = folder_ / (std::string(set) + "/annotations.json");
    auto annotations = nlohmann::json::parse(read_file(path));
    for (int id = 101; id < 104; ++id)
      annotations["categories"].push_back({{"id", id}, {"name", "kind" + std::to_string(id)}});
    write_file(path, annotations.dump());
  }
  std::string sets = "\nDATASETS:\n";
  for (const char* set : {"train", "val"})
    sets += join("  my_", set, ": {IMAGES: ", folder_ / set,
                 "/images, ANNOTATIONS: ", folder_ / set, "/annotations.json}\n");
  write_file(folder_ / "small.yaml", kSmallDetector + sets);
  const std::string four = run_folder("four") + "/checkpoint.safetensors";
  const Outcome seven =
      run("train", "seven",
          unchanged({"TRAIN.WEIGHTS", four, "MODEL.NUM_CLASSES", "8", "TRAIN.DATASETS",
                     "[my_train]", "TEST.DATASETS", "[my_val]"}));
  ASSERT_EQ(seven.exit_code, 0) << seven.err;
  EXPECT_NE(seven.out.find("4 renewed, for another number of classes: "), std::string::npos)
      << seven.out;
  const StateValues before = read_safetensors(four).tensors;
  const StateValues after =
      read_safetensors(folder_ / "seven/train/my_train/generalized_rcnn/checkpoint.safetensors")
          .tensors;
  int equal = 0;
  for (const auto& [name, value] : before) {
    if (name.ends_with("_momentum")) continue;
    if (name.starts_with("cls_score") || name.starts_with("bbox_pred")) {
      EXPECT_EQ(after.at(name).dims()[0], value.dims()[0] / 5 * 8) << name;
      continue;
    }
    EXPECT_EQ(after.at(name), value) << name;
    ++equal;
  }
  EXPECT_GT(equal, 50);
  // The file has 5 classes; a test needs all tensors as they are.
  expect_refused(run("test", "four",
                     {"MODEL.NUM_CLASSES", "8", "TEST.DATASETS", "[my_val]", "--weights", four}),
                 {"shapes differ", "cls_score_w is float32[8,32], in the file float32[5,32]"});
  expect_refused(run("test", "four", {"GROUP_NORM.EPSILON", "0.001", "--weights", four}),
                 {"GROUP_NORM.EPSILON", "0.001"});
}

// A ResNet-18 is trained on pictures in folders. A detector with this body starts from it.
TEST_F(WeightsCommandTest, AClassifierTrainedHereStartsADetector) {
  for (const char* part : {"train", "val"})
    for (int c = 0; c < 2; ++c) {
      const std::string place =
          folder_ / (std::string("pictures/") + part + "/kind" + std::to_string(c));
      fs::create_directories(place);
      for (int i = 0; i < 2; ++i)
        write_png(place + "/" + std::to_string(i) + ".png", gradient_image(34, 36, 2 * c));
    }
  write_file(folder_ / "classifier.yaml", R"(DEVICES: cpu
MODEL: {TYPE: resnet18, NUM_CLASSES: 2}
DATA: {NAME: image_folder, IMAGE_SIZE: 32, RESIZE: 32}
TRAIN: {BATCH_SIZE: 2}
SOLVER: {BASE_LR: 0.01, MAX_ITER: 2, STEP_SIZE: 40, WARM_UP_ITERS: 0}
)");
  const Outcome classifier =
      run_lockstep({"train", folder_ / "classifier.yaml", "OUTPUT_DIR", folder_ / "classifier",
                    "DATA.ROOT", folder_ / "pictures"});
  ASSERT_EQ(classifier.exit_code, 0) << classifier.err;
  const std::vector<std::string> body{"RESNETS.TRANS_FUNC",        "basic_transformation",
                                      "RESNETS.STEM_FUNC",         "basic_bn_stem",
                                      "RESNETS.SHORTCUT_FUNC",     "basic_bn_shortcut",
                                      "RESNETS.STEM_OUT_CHANNELS", "64",
                                      "RESNETS.RES2_OUT_CHANNELS", "64",
                                      "TRAIN.FREEZE_AT",           "2"};
  for (const char* file : {"checkpoint", "best"}) {
    SCOPED_TRACE(file);
    const std::string weights = join(folder_ / "classifier/", file, ".safetensors");
    std::vector<std::string> words = body;
    words.insert(words.end(), {"TRAIN.WEIGHTS", weights});
    const Outcome detector = run("train", file, unchanged(words));
    ASSERT_EQ(detector.exit_code, 0) << detector.err;
    EXPECT_NE(detector.out.find("a classifier of lockstep train"), std::string::npos)
        << detector.out;
    EXPECT_NE(detector.out.find("PIXEL_MEANS is [103.53, 116.28, 123.675], the means of"),
              std::string::npos)
        << detector.out;
    EXPECT_NE(read_file(run_folder(file) + "/config.yaml").find("PIXEL_MEANS: [103.5"),
              std::string::npos);
    const StateValues theirs = read_safetensors(weights).tensors, ours = saved(file);
    EXPECT_EQ(ours.at("res3_1_branch2a_w"), theirs.at("layer2.1.conv1.weight"));
    EXPECT_EQ(ours.at("res5_0_branch1_w"), theirs.at("layer4.0.downsample.0.weight"));
    EXPECT_FLOAT_EQ(ours.at("conv1_w").values<float>()[0],
                    theirs.at("conv1.weight").values<float>()[98] / (255 * 0.225F));
  }
  // Tests prepare pictures as the weights say, unless the configuration has other means.
  std::vector<std::string> as_trained = body;
  as_trained.insert(as_trained.end(),
                    {"--weights", run_folder("best") + "/checkpoint.safetensors"});
  const Outcome test = run("test", "best", as_trained);
  EXPECT_EQ(test.exit_code, 0) << test.err;
  EXPECT_NE(test.err.find("PIXEL_MEANS is [103.53"), std::string::npos) << test.err;
  as_trained.insert(as_trained.begin(), {"PIXEL_MEANS", "[1, 2, 3]"});
  expect_refused(run("test", "best", as_trained), {"PIXEL_MEANS is [1, 2, 3]", "103.53"});
  // The detector's own weights give its means to the next detector.
  std::vector<std::string> words = body;
  words.insert(words.end(), {"TRAIN.WEIGHTS", run_folder("best") + "/best.safetensors"});
  const Outcome next = run("train", "next", unchanged(words));
  ASSERT_EQ(next.exit_code, 0) << next.err;
  EXPECT_NE(next.out.find("PIXEL_MEANS is [103.53"), std::string::npos) << next.out;
  EXPECT_EQ(saved("next").at("conv1_w"), saved("best").at("conv1_w"));
  words.insert(words.end(), {"PIXEL_MEANS", "[0, 0, 0]"});
  expect_refused(run("train", "other", unchanged(words)), {"PIXEL_MEANS is [0, 0, 0]", "103.53"});
  words.insert(words.end(), {"TRAIN.WEIGHTS_MUST_AGREE", "false"});
  EXPECT_EQ(run("train", "other", unchanged(words)).exit_code, 0);
}

// A resumed run takes the means of its checkpoint: the weights' file may be gone, or TRAIN.WEIGHTS
// no longer named.
TEST_F(WeightsCommandTest, AResumedRunNeedsNoWeightsFile) {
  expect_trained("first", {"SOLVER.MAX_ITER", "1", "PIXEL_MEANS", "[100.5, 110.25, 120]"});
  const std::string weights = folder_ / "w.safetensors";
  fs::copy_file(run_folder("first") + "/checkpoint.safetensors", weights);
  const std::vector<std::string> start{"TRAIN.WEIGHTS", weights, "SOLVER.MAX_ITER"};
  const auto with = [&](const std::string& iterations, const std::vector<std::string>& more) {
    std::vector<std::string> all = start;
    all.push_back(iterations);
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  expect_trained("whole", with("4", {}));
  expect_trained("gone", with("2", {}));
  expect_trained("unnamed", with("2", {}));
  fs::rename(weights, folder_ / "elsewhere.safetensors");
  const Outcome gone = run("train", "gone", with("4", {"--resume"}));
  ASSERT_EQ(gone.exit_code, 0) << gone.err;
  EXPECT_NE(gone.out.find("PIXEL_MEANS is [100.5, 110.25, 120], the means of the checkpoint"),
            std::string::npos)
      << gone.out;
  expect_trained("unnamed", {"SOLVER.MAX_ITER", "4", "--resume"});
  const StateValues expected = saved("whole");
  EXPECT_EQ(saved("gone"), expected);
  EXPECT_EQ(saved("unnamed"), expected);
  // Means that the user sets must be the run's.
  expect_refused(run("train", "gone", with("5", {"PIXEL_MEANS", "[1, 2, 3]", "--resume"})),
                 {"was saved with PIXEL_MEANS [100.5, 110.25, 120], but now it is [1, 2, 3]"});
  // Without a run to resume the file is needed.
  expect_refused(run("train", "new", with("4", {})), {"w.safetensors"});
}

TEST_F(WeightsCommandTest, OneOfTwoProcessesHasTheWeightsFile) {
  expect_trained("first", {"SOLVER.MAX_ITER", "1", "PIXEL_MEANS", "[100.5, 110.25, 120]"});
  for (const char* place : {"rank0", "rank1"}) fs::create_directory(folder_ / place);
  const std::string weights = folder_ / "rank0/w.safetensors";
  fs::copy_file(run_folder("first") + "/checkpoint.safetensors", weights);
  expect_trained("one", {"TRAIN.WEIGHTS", weights, "SOLVER.MAX_ITER", "4"});
  const auto train = [&](const std::string& more) {
    write_file(folder_ / "rank.sh", "cd " + (folder_ / "rank") + "$RANK && exec " +
                                        shell_word(run_path()) + " train " +
                                        (folder_ / "small.yaml") + " OUTPUT_DIR " +
                                        (folder_ / "two") + " --devices cpu TRAIN.WEIGHTS " +
                                        "w.safetensors SOLVER.MAX_ITER " + more + "\n");
    const Outcome outcome = run_lockstep({"launch", "-n", "2", "--", "sh", folder_ / "rank.sh"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  };
  train("2");
  fs::remove(weights);
  train("4 --resume");
  EXPECT_EQ(saved("two"), saved("one"));
}

TEST_F(WeightsCommandTest, AFileIsListedAndTriedOnAConfiguration) {
  expect_trained("run", {"SOLVER.MAX_ITER", "2"});
  const std::string weights = run_folder("run") + "/checkpoint.safetensors";
  const Outcome listed = run_lockstep({"weights", weights});
  ASSERT_EQ(listed.exit_code, 0) << listed.err;
  EXPECT_NE(listed.out.find("conv1_w  float32[8,3,7,7]"), std::string::npos) << listed.out;
  const Outcome tried = run_lockstep({"weights", weights, "--for", folder_ / "small.yaml",
                                      "MODEL.NUM_CLASSES", "3", "-o", folder_ / "out.safetensors"});
  ASSERT_EQ(tried.exit_code, 0) << tried.err;
  EXPECT_NE(tried.out.find("conv1_w  as in the file"), std::string::npos) << tried.out;
  EXPECT_NE(tried.out.find("cls_score_w  renewed: is float32[3,32], in the file float32[5,32]"),
            std::string::npos)
      << tried.out;
  EXPECT_EQ(read_safetensors(folder_ / "out.safetensors").tensors.at("conv1_w"),
            read_safetensors(weights).tensors.at("conv1_w"));
  // A refused file is listed, too, but not written.
  const std::string refused = folder_ / "refused.safetensors";
  const Outcome groups =
      run_lockstep({"weights", weights, "--for", folder_ / "small.yaml", "-o", refused,
                    "GROUP_NORM.NUM_GROUPS", "2", "FAST_RCNN.MLP_HEAD_DIM", "16"});
  expect_refused(groups, {"GROUP_NORM.NUM_GROUPS is 2", "has 4"});
  for (const char* line : {"\nconv1_w  as in the file",
                           "\nfc7_w  does not fit: is float32[16,16], "
                           "in the file float32[32,32]"})
    EXPECT_NE(groups.out.find(line), std::string::npos) << groups.out;
  EXPECT_FALSE(fs::exists(refused));
  expect_refused(run_lockstep({"weights", weights, "-o", weights}), {"-o"});
}

}  // namespace
}  // namespace lockstep::testing
