// SPDX-License-Identifier: Apache-2.0
// Sigmas and pairs that DATASETS declares for the keypoints of a set, and the number of keypoints.
#include "app/detection/datasets/keypoint_declarations.h"

#include "app/config/read.h"
#include "app/detection/datasets/data_sets.h"
#include "data/coco/keypoints.h"
#include "data/coco/write_annotations.h"
#include "tests/detection/detector_config_fixture.h"

namespace lockstep::testing {
namespace {

class KeypointDeclarations : public DetectorConfigTest {
 protected:
  // The declaration of a set of discs, which have no points, and of fish with five points, two of
  // them a pair by name. Its annotations are in line 8 of a file.
  std::string declared(const std::string& more, const std::string& set = "fish",
                       const std::vector<std::string>& points = kPoints) {
    Annotations table;
    table.categories = {{1, "disc", {}, {}}, {2, "fish", points, {}}};
    table.images.push_back({1, "a.jpg", 10, 20});
    table.first_object = {0, 0};
    const std::string path = folder / (set + ".json");
    write_annotations(path, table);
    return "DATASETS." + set + ":\n  IMAGES: " + folder.path() + "\n  ANNOTATIONS: " + path + "\n" +
           more;
  }
  // Opens the sets that the key names in line 5.
  Annotations open(const std::string& more, const Words& words = {},
                   const std::string& key = "TRAIN.DATASETS", const std::string& sets = "[fish]") {
    Words all{"MODEL.NUM_CLASSES", "3"};
    all.insert(all.end(), words.begin(), words.end());
    const DetectorConfig config = read(key + ": " + sets + "\n" + more, all);
    const bool trains = key == "TRAIN.DATASETS";
    return open_pictures(config, (trains ? config.train.data : config.test.data).datasets, key)
        ->annotations();
  }
  KeypointPairs pairs(const std::string& flips) {
    return open(declared("  KEYPOINT_FLIPS: " + flips + "\n")).categories.at(1).swap;
  }
  template <class... Parts>
  void not_opened(const std::string& more, const Parts&... parts) {
    SCOPED_TRACE(more);
    expect_error([&] { open(declared(more)); }, parts...);
  }
  // The words of a network of keypoints.
  static Words with_head(const std::string& points = "5") {
    return {"MODEL.KEYPOINTS_ON",       "True",
            "KRCNN.ROI_KEYPOINTS_HEAD", "keypoint_rcnn_heads.add_roi_pose_head_v1convX",
            "KRCNN.NUM_KEYPOINTS",      points,
            "KRCNN.HEATMAP_SIZE",       "14",
            "KRCNN.UP_SCALE",           "2"};
  }
  static Words of_scenes(const std::string& points) {
    Words words = with_head(points);
    words.insert(words.end(), {"MODEL.NUM_CLASSES", "5", "SCENES.VAL", "2"});
    return words;
  }
  static inline const Words kPoints{"nose", "left_eye", "right_eye", "fin_a", "fin_b"};
};

TEST_F(KeypointDeclarations, ReplaceTheSigmasOfTheFile) {
  EXPECT_TRUE(open(declared("")).keypoint_sigmas.empty());
  const std::vector<double> wanted{0.05, 0.1, 0.1, 1, 2};
  EXPECT_EQ(open(declared("  KEYPOINT_SIGMAS: [0.05, 0.1, 0.1, 1, 2]\n")).keypoint_sigmas, wanted);
  EXPECT_EQ(
      open(declared("  KEYPOINT_SIGMAS:\n    - 0.05\n    - 0.1\n    - 1e-1\n    - 1\n    - 2.0\n"))
          .keypoint_sigmas,
      wanted);
  const Words said{"DATASETS.fish.KEYPOINT_SIGMAS", "[0.05, 0.1, 0.1, 1, 2]"};
  EXPECT_EQ(open(declared("  KEYPOINT_SIGMAS: [1, 1, 1, 1, 1]\n"), said).keypoint_sigmas, wanted);
  EXPECT_EQ(open(declared(""), said).keypoint_sigmas, wanted);
  EXPECT_TRUE(open(declared("  KEYPOINT_SIGMAS:\n")).keypoint_sigmas.empty());
}

// By names or by numbers from 0.
TEST_F(KeypointDeclarations, ReplaceThePairsOfTheNames) {
  EXPECT_EQ(open(declared("")).categories.at(1).swap, (KeypointPairs{{1, 2}}));
  const KeypointPairs both{{1, 2}, {3, 4}};
  EXPECT_EQ(pairs("[[left_eye, right_eye], [fin_a, fin_b]]"), both);
  EXPECT_EQ(pairs("[[1, 2], [3, 4]]"), both);
  EXPECT_EQ(pairs("[[fin_b, fin_a]]"), (KeypointPairs{{4, 3}}));
  EXPECT_TRUE(pairs("[]").empty());
  const std::string numbers =
      declared("  KEYPOINT_FLIPS: [[2, 0]]\n", "fish", {"2", "left_1", "0", "right_1", "1"});
  EXPECT_EQ(open(numbers).categories.at(1).swap, (KeypointPairs{{0, 2}})) << "names before numbers";
}

TEST_F(KeypointDeclarations, AreWrittenSoThatTheyReadBackTheSame) {
  DetectorConfig config = read(declared(
      "  KEYPOINT_SIGMAS: [0.05, 0.1, 0.1, 1, 2]\n  KEYPOINT_FLIPS: [[nose, 'fin, a'], [1, 2]]\n"));
  const ConfigKeys keys = keys_of(config);
  EXPECT_EQ(config.sets.declared.sections.at("fish").at("KEYPOINT_FLIPS"),
            "[[nose, 'fin, a'], [1, 2]]");
  for (const std::string& written : {yaml_of(keys), yaml_with_origins(keys, config.origins)}) {
    DetectorConfig again = read_detector_config(config_files(file(written, "again.yaml")), {});
    EXPECT_EQ(again.sets.declared.sections, config.sets.declared.sections);
  }
}

TEST_F(KeypointDeclarations, OfWrongFormAreRefusedByKey) {
  const std::string sigmas = "  KEYPOINT_SIGMAS: ", flips = "  KEYPOINT_FLIPS: ";
  const std::string at_sigmas = "x.yaml:8: DATASETS.fish.KEYPOINT_SIGMAS: ";
  const std::string at_flips = "x.yaml:8: DATASETS.fish.KEYPOINT_FLIPS: ";
  const auto wrong = [&](const std::string& more, const std::string& text) {
    refused(declared(more + "\n"), text);  // before the set is opened
  };
  wrong(sigmas + "0.05", at_sigmas + "should be a list of numbers, one for each point, such as");
  wrong(sigmas + "[]", at_sigmas + "should be a list of numbers");
  wrong(sigmas + "{a: 1}", at_sigmas + "should be a list of numbers");
  wrong(sigmas + "[0.1, -0.1]",
        at_sigmas + "the sigma of point 1 is -0.1, should be a number above 0");
  wrong(sigmas + "[0]", at_sigmas + "the sigma of point 0 is 0");
  for (const char* none : {".nan", "nan", ".inf", "big", "[1]", "~", "1e999"})
    wrong(sigmas + "[0.1, " + none + "]", at_sigmas + "a sigma should be a number, is '");
  for (const char* none : {"left", "5", "{a: b}", "[a, b]", "[[a]]", "[[a, b, c]]", "[[a, b], c]"})
    wrong(flips + none, at_flips + "should be a list of pairs, such as [[left_eye, right_eye]], ");
  wrong(flips + "[[a, [b]]]", at_flips + "a point should be a name, is '[b]'");
  wrong(flips + "[[a, '']]", at_flips + "a point should be a name");
  wrong("  KEYPOINT_FLIP: []", "x.yaml:8: unknown key DATASETS.fish.KEYPOINT_FLIP; did you mean");
  refused("DATASETS.v: {VOC: a, LIST: b, KEYPOINT_SIGMAS: [1]}\n",
          "x.yaml:5: DATASETS.v has KEYPOINT_SIGMAS, but a set of Pascal VOC has no keypoints");
  expect_error(
      [&] {
        read(declared(""), {"DATASETS.fish.KEYPOINT_SIGMAS", "[0.1"});
      },
      "command line: DATASETS.fish.KEYPOINT_SIGMAS: ");
}

TEST_F(KeypointDeclarations, ThatDoNotFitTheSetAreRefusedByKey) {
  const std::string at_sigmas = "x.yaml:9: DATASETS.fish.KEYPOINT_SIGMAS: ";
  const std::string at_flips = "x.yaml:9: DATASETS.fish.KEYPOINT_FLIPS: ";
  not_opened("  KEYPOINT_SIGMAS: [1, 2, 3, 4]\n",
             at_sigmas + "4 numbers, but 'fish' of " + (folder / "fish.json") + " has 5 keypoints");
  not_opened("  KEYPOINT_FLIPS: [[left_eye, right_eye], [fin_a, fin_c]]\n",
             at_flips + "no category of " + (folder / "fish.json") +
                 " has both points of the pair [fin_a, fin_c]: 'fish' has nose, left_eye, "
                 "right_eye, fin_a, fin_b");
  not_opened("  KEYPOINT_FLIPS: [[0, 5]]\n", at_flips + "no category of ", "the pair [0, 5]");
  not_opened("  KEYPOINT_FLIPS: [[-1, 0]]\n", "the pair [-1, 0]");
  not_opened("  KEYPOINT_FLIPS: [[nose, nose]]\n", at_flips + "'nose' is swapped with itself");
  not_opened("  KEYPOINT_FLIPS: [[nose, fin_a], [fin_b, 0]]\n",
             at_flips + "'nose' is in two pairs");
  const auto without_points = [&](const std::string& more) { return declared(more, "fish", {}); };
  expect_error([&] { open(without_points("  KEYPOINT_SIGMAS: [1]\n")); },
               at_sigmas + "no category of ", "fish.json has keypoints");
  expect_error([&] { open(without_points("  KEYPOINT_FLIPS: [[a, b]]\n")); },
               at_flips + "no category of ", "the pair [a, b]: none has keypoints");
}

TEST_F(KeypointDeclarations, OfJoinedSetsAreEqual) {
  const std::string two = declared("  KEYPOINT_SIGMAS: [1, 1, 1, 1, 1]\n") +
                          declared("  KEYPOINT_SIGMAS: [1, 1, 1, 1, 2]\n", "more");
  expect_error([&] { open(two, {}, "TRAIN.DATASETS", "[fish, more]"); },
               "x.yaml:5: TRAIN.DATASETS: keypoints have the sigmas [1, 1, 1, 1, 1] in fish, but "
               "[1, 1, 1, 1, 2] in more");
  const std::string swapped = declared("") + declared("  KEYPOINT_FLIPS: []\n", "more");
  expect_error([&] { open(swapped, {}, "TRAIN.DATASETS", "[fish, more]"); },
               "'fish' swaps keypoints in a mirrored picture: left_eye and right_eye in fish, but "
               "none in more; declare the same KEYPOINT_FLIPS");
}

// A class without keypoints is allowed, and so is a set without any.
TEST_F(KeypointDeclarations, AreAsManyAsTheNetworkHas) {
  EXPECT_EQ(open(declared(""), with_head()).categories.size(), 2U);
  EXPECT_NO_THROW(open(declared("", "fish", {}), with_head()));
  EXPECT_NO_THROW(open(declared(""))) << "a network of boxes";
  expect_error([&] { open(declared(""), with_head("17")); },
               "command line: KRCNN.NUM_KEYPOINTS is 17, but fish of TRAIN.DATASETS needs 5: "
               "'fish' has the points nose, left_eye, right_eye, fin_a, fin_b");
  expect_error([&] { open("", of_scenes("4"), "TEST.DATASETS", "[scenes_val]"); },
               "command line: KRCNN.NUM_KEYPOINTS is 4, but scenes_val of TEST.DATASETS needs 5");
}

// Scores need sigmas, so a run ends before its first step, not at its first test.
TEST_F(KeypointDeclarations, OfTestedSetsHaveSigmas) {
  expect_error([&] { open(declared(""), with_head(), "TEST.DATASETS"); },
               "x.yaml:5: TEST.DATASETS: ", "fish.json: the 5 keypoints of 'fish' (nose, ",
               "give the data set KEYPOINT_SIGMAS in DATASETS");
  EXPECT_NO_THROW(open(declared(""), {}, "TEST.DATASETS"));
  EXPECT_NO_THROW(
      open(declared("  KEYPOINT_SIGMAS: [1, 1, 1, 1, 1]\n"), with_head(), "TEST.DATASETS"));
  EXPECT_EQ(open("", of_scenes("5"), "TEST.DATASETS", "[scenes_val]").keypoint_sigmas.size(), 5U);
}

// A network knows points by their numbers alone.
TEST_F(KeypointDeclarations, HaveEqualNamesInTrainingAndInATest) {
  Words reversed(kPoints.rbegin(), kPoints.rend());
  const Annotations train = open(declared("")), other = open(declared("", "fish", reversed));
  const DetectorConfig points = read("", with_head()), boxes = read();
  expect_error([&] { check_same_keypoints(points, train, other); },
               "the keypoints of 'fish' are nose, left_eye, right_eye, fin_a, fin_b in ",
               "but fin_b, fin_a, right_eye, left_eye, nose in ");
  EXPECT_NO_THROW(check_same_keypoints(boxes, train, other));
  EXPECT_NO_THROW(check_same_keypoints(points, train, train));
  EXPECT_NO_THROW(check_same_keypoints(points, train, open(declared("", "fish", {}))));
  EXPECT_EQ(text_of_all_pairs(train), "fish: left_eye and right_eye");
}

// Training mirrors with the pairs of its sets, a test mirrors back with its own.
TEST_F(KeypointDeclarations, SwapTheSamePointsInTrainingAndInATest) {
  const Annotations train = open(declared("  KEYPOINT_FLIPS: [[fin_a, fin_b]]\n")),
                    other = open(declared(""));
  const DetectorConfig points = read("", with_head());
  expect_error([&] { check_same_keypoints(points, train, other); },
               "a mirrored picture swaps the keypoints fin_a and fin_b of 'fish' in ",
               "but left_eye and right_eye in ", "declare equal KEYPOINT_FLIPS for both");
  EXPECT_NO_THROW(check_same_keypoints(read(), train, other));
}

TEST_F(KeypointDeclarations, AreNeededInATest) {
  expect_error([&] { open(declared("", "fish", {}), with_head(), "TEST.DATASETS"); },
               "x.yaml:5: TEST.DATASETS: no category of fish names keypoints",
               "MODEL.KEYPOINTS_ON");
  const std::string sigmas = "  KEYPOINT_SIGMAS: [1, 1, 1, 1, 1]\n";
  expect_error(
      [&] {
        open(declared(sigmas) + declared("", "more"), with_head(), "TEST.DATASETS", "[fish, more]");
      },
      "more.json: the 5 keypoints of 'fish'", "KEYPOINT_SIGMAS");
  EXPECT_NO_THROW(open(declared(sigmas) + declared(sigmas, "more"), with_head(), "TEST.DATASETS",
                       "[fish, more]"));
}

}  // namespace
}  // namespace lockstep::testing
