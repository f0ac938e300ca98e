// SPDX-License-Identifier: Apache-2.0
// Data sets of a detector's configuration: declaring, naming and opening them.
#include "app/detection/datasets/data_sets.h"

#include <algorithm>

#include "app/config/read.h"
#include "data/coco/write_annotations.h"
#include "data/formats/exif.h"
#include "tests/detection/detector_config_fixture.h"
#include "tests/support/picture_files.h"
#include "tests/support/pictures.h"

namespace lockstep::testing {
namespace {

class DataSetsTest : public DetectorConfigTest {
 protected:
  // A file of annotations with these categories. Its picture does not exist.
  std::string annotations(const std::string& name, const Words& categories) {
    Annotations table;
    for (std::size_t i = 0; i < categories.size(); ++i)
      table.categories.push_back({static_cast<int64_t>(i) + 1, categories[i], {}, {}});
    table.images.push_back({1, name + ".jpg", 10, 20});
    table.first_object = {0, 0};
    const std::string path = folder / (name + ".json");
    write_annotations(path, table);
    return path;
  }
  std::string declared(const std::string& name, const Words& categories) {
    return "DATASETS." + name + ": {IMAGES: " + folder.path() +
           ", ANNOTATIONS: " + annotations(name, categories) + "}\n";
  }
  // Opens the pictures of a configuration with TRAIN.DATASETS in line 5.
  std::unique_ptr<PictureSet> open(const std::string& sets, const std::string& more = "",
                                   const Words& words = {}) {
    const DetectorConfig config = read("TRAIN.DATASETS: " + sets + "\n" + more, words);
    return open_pictures(config, config.train.data.datasets, "TRAIN.DATASETS");
  }
  template <class... Parts>
  void not_opened(const std::string& sets, const std::string& more, const Parts&... parts) {
    SCOPED_TRACE(sets + " " + more);
    expect_error([&] { open(sets, more, {"MODEL.NUM_CLASSES", "3"}); }, parts...);
  }
  const Words animals_{"cat", "dog"};
};

TEST_F(DataSetsTest, AreDeclaredInAFileOrOnACommandLine) {
  const auto mine = [](const DetectorConfig& config) {
    return config.sets.declared.sections.at("mine");
  };
  const NamedSections::Section wanted{{"IMAGES", "a b"}, {"ANNOTATIONS", "5.json"}};
  for (const char* text : {"DATASETS: {mine: {IMAGES: a b, ANNOTATIONS: 5.json}}\n",
                           "DATASETS:\n  mine:\n    IMAGES: a b\n    ANNOTATIONS: '5.json'\n",
                           "DATASETS.mine: {IMAGES: a b, ANNOTATIONS: 5.json}\n",
                           "DATASETS.mine.IMAGES: a b\nDATASETS.mine.ANNOTATIONS: 5.json\n"})
    EXPECT_EQ(mine(read(text)), wanted) << text;
  const DetectorConfig said =
      read("DATASETS: {mine: {IMAGES: x, ANNOTATIONS: 5.json}, v.2: {IMAGES: i, ANNOTATIONS: j}}\n",
           {"DATASETS.mine.IMAGES", "a b"});
  EXPECT_EQ(mine(said), wanted);
  EXPECT_EQ(said.sets.declared.sections.at("v.2").at("IMAGES"), "i");
  EXPECT_EQ(said.origins.of("DATASETS.mine.IMAGES"), "command line");
  EXPECT_NE(said.origins.of("DATASETS.mine.ANNOTATIONS").find("x.yaml:5"), std::string::npos);
  EXPECT_EQ(mine(read("", {"DATASETS", "{mine: {IMAGES: a b, ANNOTATIONS: 5.json}}"})), wanted);
  EXPECT_TRUE(read("DATASETS: {}\n").sets.declared.sections.empty());
  // A file extends its base.
  file(std::string(kFasterFpn) + "DATASETS.mine: {IMAGES: old, ANNOTATIONS: 5.json}\n", "b.yaml");
  EXPECT_EQ(mine(read_detector_config(
                config_files(file("_BASE_: b.yaml\nDATASETS: {mine: {IMAGES: a b}}\n")), {})),
            wanted);
}

TEST_F(DataSetsTest, AreWrittenSoThatTheyReadBackTheSame) {
  DetectorConfig config = read(
      "DATASETS:\n  b: {IMAGES: 'None', ANNOTATIONS: \"a, {b}: 'c' #d\"}\n"
      "  a-1.x: {IMAGES: 5, ANNOTATIONS: /true}\n");
  const ConfigKeys keys = keys_of(config);
  const std::string text =
      R"({a-1.x: {IMAGES: "5", ANNOTATIONS: /true}, b: {IMAGES: "None", ANNOTATIONS: )"
      R"("a, {b}: 'c' #d"}})";
  EXPECT_NE(yaml_of(keys).find("\nDATASETS: " + text + "\n"), std::string::npos) << yaml_of(keys);
  for (const std::string& written : {yaml_of(keys), yaml_with_origins(keys, config.origins)}) {
    DetectorConfig again = read_detector_config(config_files(file(written, "again.yaml")), {});
    EXPECT_EQ(entries_of(keys_of(again)), entries_of(keys));
  }
  DetectorConfig by_words = read("", {"DATASETS", text});
  EXPECT_EQ(by_words.sets.declared.sections, config.sets.declared.sections);
  // Other processes may use other folders, but not other names.
  ConfigKeys table = keys_of(config);
  EXPECT_EQ(find_key(table, "DATASETS")->facts.alike(), "a-1.x, b");
}

TEST_F(DataSetsTest, DeclaredWronglyAreRefusedByLine) {
  refused("DATASETS:\n  mine: {IMAGE: a, ANNOTATIONS: b}\n",
          "x.yaml:6: unknown key DATASETS.mine.IMAGE; did you mean DATASETS.mine.IMAGES?");
  refused(
      "DATASETS:\n  mine: {VOC: a}\n",
      "x.yaml:6: DATASETS.mine has no LIST; it should have IMAGES and ANNOTATIONS, or VOC, LIST "
      "and CLASSES");
  refused("DATASETS:\n  mine: {CLASSES: 'a, b'}\n", "x.yaml:6: DATASETS.mine has no VOC");
  refused("DATASETS:\n  mine: {VOC: a, LIST: b, IMAGES: c}\n",
          "x.yaml:6: DATASETS.mine has both IMAGES and VOC");
  refused("DATASETS: {mine: {FOLDER: a}}\n", "x.yaml:5: unknown key DATASETS.mine.FOLDER",
          "DATASETS.mine has IMAGES and ANNOTATIONS");
  refused("DATASETS:\n  mine: {IMAGES: a}\n", "x.yaml:6: DATASETS.mine has no ANNOTATIONS");
  refused("DATASETS:\n  mine: {IMAGES: , ANNOTATIONS: b}\n",
          "x.yaml:6: DATASETS.mine has no IMAGES");
  refused("DATASETS:\n  a: {IMAGES: a, ANNOTATIONS: b}\n  a: {IMAGES: c, ANNOTATIONS: d}\n",
          "x.yaml:7: DATASETS.a is already set in line 6");
  refused("DATASETS: {a: {IMAGES: a, ANNOTATIONS: b}}\nDATASETS.a.IMAGES: c\n",
          "x.yaml:6: DATASETS.a.IMAGES is already set in line 5");
  refused("DATASETS: mine\n",
          "x.yaml:5: DATASETS should be a section of names, each with IMAGES and ANNOTATIONS",
          "'mine', a string");
  refused("DATASETS: [mine]\n", "x.yaml:5: DATASETS should be a section of names", "a list");
  for (const char* none : {"5", "~", "{}", "[a]"})
    refused(std::string("DATASETS: {mine: ") + none + "}\n",
            "x.yaml:5: DATASETS.mine should be a section with IMAGES and ANNOTATIONS");
  refused("DATASETS: {IMAGES: a, ANNOTATIONS: b}\n",
          "x.yaml:5: DATASETS.IMAGES should be a section", "DATASETS: {NAME: {IMAGES: .., ..}}");
  refused("DATASETS: {mine: {IMAGES: [a], ANNOTATIONS: b}}\n",
          "x.yaml:5: DATASETS.mine.IMAGES should be a string", "a list of a string");
  refused("DATASETS: {mine: {IMAGES: {a: b}, ANNOTATIONS: b}}\n",
          "x.yaml:5: DATASETS.mine.IMAGES should be a string", "a section");
  refused("DATASETS: {'': {IMAGES: a, ANNOTATIONS: b}}\n", "a name below DATASETS is empty");
  for (const char* name : {"a/b", "..", "a b", "-a", "a+b"})
    refused(std::string("DATASETS: {'") + name + "': {IMAGES: a, ANNOTATIONS: b}}\n", "x.yaml:5",
            name, "letters, digits, _, - and . only");
  refused("DATASETS: {scenes_val: {IMAGES: a, ANNOTATIONS: b}}\n",
          "x.yaml:5: DATASETS.scenes_val is the name of generated pictures");
  expect_error(
      [&] {
        read("", {"DATASETS.mine.IMAGE", "a"});
      },
      "command line: unknown key DATASETS.mine.IMAGE", "DATASETS.mine.IMAGES?");
  expect_error([&] { read("", {"DATASETS.mine", "a"}); }, "command line: DATASETS.mine should be");
  expect_error(
      [&] {
        read("", {"DATASETS.mine.IMAGES", "a"});
      },
      "command line: DATASETS.mine has no ANNOTATIONS");
  expect_error([&] { read("", {"DATASETS", "5"}); }, "command line: DATASETS should be a section");
  refused("DATA_DIR: [a]\n", "x.yaml:5: DATA_DIR should be a string");
  refused("SCENES.TRAIN: 0\n", "x.yaml:5: SCENES.TRAIN is '0', should be at least 1");
}

TEST_F(DataSetsTest, OfOnesOwnAreOpenedWithoutTheirPictures) {
  const Words classes{"MODEL.NUM_CLASSES", "3"};
  const auto mine = open("[mine]", declared("mine", animals_), classes);
  EXPECT_EQ(mine->annotations().images.at(0).file, "mine.jpg");
  expect_error([&] { mine->picture(0); }, "mine.jpg");
  const auto both = open("(\"mine\", \"more\")",
                         declared("mine", animals_) + declared("more", animals_), classes);
  EXPECT_EQ(both->annotations().images.size(), 2U);
  EXPECT_EQ(both->name_of(1), (folder / "more.json") + ": image 1");
  // The declared name may also be a name of Detectron.
  const auto other = open("[coco_2014_train]", declared("coco_2014_train", animals_), classes);
  EXPECT_EQ(other->annotations().images.at(0).file, "coco_2014_train.jpg");
}

// Turned by 180 degrees, so the annotated size does not reveal the direction.
TEST_F(DataSetsTest, ExifTurnsPicturesUnlessAKeyDeniesIt) {
  const Words turns{"MODEL.NUM_CLASSES", "3"};
  const Image image = gradient_image(10, 20);
  put_file(folder / "mine.jpg", png_with(png_of(image), png_chunk("eXIf", exif_block(3))));
  const auto pixels = [&](const Words& words) {
    return open("[mine]", declared("mine", animals_), words)->picture(0).rgb;
  };
  Words stored = turns;
  stored.insert(stored.end(), {"DATA.EXIF", "false"});
  EXPECT_EQ(pixels(turns), turned(image, 3).rgb);
  EXPECT_EQ(pixels(stored), image.rgb);
}

TEST_F(DataSetsTest, ScenesAreAlwaysTheSame) {
  const Words few{"MODEL.NUM_CLASSES", "5", "SCENES.TRAIN", "6", "SCENES.VAL", "3"};
  Words other_seed = few;
  other_seed.insert(other_seed.end(), {"RNG_SEED", "77"});
  const auto train = open("[scenes_train]", "", other_seed), val = open("[scenes_val]", "", few);
  EXPECT_EQ(train->annotations().images.size(), 6U);
  EXPECT_EQ(val->annotations().images.size(), 3U);
  EXPECT_EQ(train->picture(5).rgb, Scenes({.seed = 1, .count = 6}).picture(5).rgb);
  EXPECT_EQ(val->picture(2).rgb, Scenes({.seed = 1, .count = 3, .held_out = true}).picture(2).rgb);
  EXPECT_EQ(DetectorConfig().sets.train_scenes, 4000);
  EXPECT_EQ(DetectorConfig().sets.val_scenes, 500);
}

TEST_F(DataSetsTest, OfDetectronLieInItsFolders) {
  make_folder(folder / "coco/annotations");
  make_folder(folder / "coco/coco_train2014");
  const Words words{"DATA_DIR", folder.path(), "MODEL.NUM_CLASSES", "3"};
  annotations("coco/annotations/instances_train2014", animals_);
  EXPECT_EQ(open("('coco_2014_train',)", "", words)->annotations().categories.size(), 2U);
  annotations("coco/annotations/instances_valminusminival2014", animals_);
  expect_error([&] { open("[coco_2014_valminusminival]", "", words); },
               "x.yaml:5: TRAIN.DATASETS: coco_2014_valminusminival: there is no folder ",
               "coco/coco_val2014; it follows from DATA_DIR, which is '" + folder.path() +
                   "' (command line)");
  make_folder(folder / "coco/coco_val2014");
  annotations("coco/annotations/person_keypoints_minival2014", {"person"});
  EXPECT_EQ(open("('coco_2014_train', 'coco_2014_valminusminival')", "", words)
                ->annotations()
                .images.size(),
            2U);
  Words one_class = words;
  one_class.back() = "2";
  EXPECT_EQ(open("[keypoints_coco_2014_minival]", "", one_class)->annotations().categories[0].name,
            "person");
  not_opened("[coco_2017_val]", "",
             "x.yaml:5: TRAIN.DATASETS: coco_2017_val: there is no file "
             "data/coco/annotations/instances_val2017.json; it follows from DATA_DIR, which is "
             "'data' (default)");
}

// A declared set, and a set of Detectron's catalogue in Pascal's own files.
TEST_F(DataSetsTest, OfPascalVocAreRead) {
  const auto write_voc = [&](const std::string& name, const std::string& kind) {
    for (const char* part : {"/Annotations", "/ImageSets/Main", "/JPEGImages"})
      make_folder(folder / (name + part));
    write_file(folder / (name + "/ImageSets/Main/test.txt"), "000001\n");
    write_file(folder / (name + "/JPEGImages/000001.jpg"), png_of(gradient_image(10, 20)));
    write_file(folder / (name + "/Annotations/000001.xml"),
               "<annotation><size><width>20</width><height>10</height></size><object><name>" +
                   kind +
                   "</name><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>8</xmax><ymax>9</ymax>"
                   "</bndbox></object></annotation>");
  };
  write_voc("mine", "dog");
  const std::string mine = "DATASETS.mine: {VOC: " + folder.path() + "/mine, LIST: test";
  const auto set = open("[mine]", mine + ", CLASSES: 'cat, dog'}\n", {"MODEL.NUM_CLASSES", "3"});
  EXPECT_TRUE(set->annotations().pascal);
  EXPECT_EQ(set->annotations().objects.at(0).category, 1);
  EXPECT_EQ(set->picture(0).width, 20);
  const DetectorConfig config = read(mine + "}\n");
  EXPECT_EQ(annotation_files(config, {"mine"}),
            (Words{folder.path() + "/mine/ImageSets/Main/test.txt"}));
  EXPECT_FALSE(open("[other]", declared("other", animals_), {"MODEL.NUM_CLASSES", "3"})
                   ->annotations()
                   .pascal);
  not_opened("[mine]", mine + ", CLASSES: 'cat, cow'}\n",
             "x.yaml:5: TRAIN.DATASETS: mine: ", "000001.xml:1: the class \"dog\" is not known");
  not_opened("[mine]", "DATASETS.mine: {VOC: none/here, LIST: test}\n",
             "TRAIN.DATASETS: mine: there is no folder none/here; see DATASETS.mine.VOC (");
  write_voc("VOC2007", "person");
  const auto test =
      open("[voc_2007_test]", "", {"DATA_DIR", folder.path(), "MODEL.NUM_CLASSES", "21"});
  EXPECT_EQ(test->annotations().objects.at(0).category, 14);
}

TEST_F(DataSetsTest, ThatCannotBeOpenedAreRefusedByKeyAndName) {
  const std::string mine = declared("mine", animals_);
  not_opened("[mime]", mine, "x.yaml:5: TRAIN.DATASETS: there is no data set 'mime'",
             "did you mean mine?", "DATASETS: {mime: {IMAGES: folder, ANNOTATIONS: file.json}}",
             "or one of Pascal VOC as {VOC: folder, LIST: trainval}");
  not_opened("[coco_2014_trian]", "", "did you mean coco_2014_train?");
  not_opened("[zzz]", "",
             "there is no data set 'zzz'. Declare a data set of your own as DATASETS: ");
  not_opened("[scenes]", "", "did you mean scenes_");
  not_opened("[mine, mine]", mine, "x.yaml:5: TRAIN.DATASETS names mine twice");
  not_opened("[]", "", "x.yaml:5: TRAIN.DATASETS names no data set", "scenes_train");
  not_opened("[a]", "DATASETS.a:\n  IMAGES: .\n  ANNOTATIONS: none.json\n",
             "x.yaml:5: TRAIN.DATASETS: a: there is no file none.json; see DATASETS.a.ANNOTATIONS",
             "x.yaml:8");
  const std::string path = annotations("a", animals_);
  not_opened("[a]", "DATASETS.a:\n  IMAGES: none/here\n  ANNOTATIONS: " + path + "\n",
             "TRAIN.DATASETS: a: there is no folder none/here; see DATASETS.a.IMAGES", "x.yaml:7");
  not_opened("[a]", "DATASETS.a: {IMAGES: " + path + ", ANNOTATIONS: " + path + "}\n",
             "a: there is no folder " + path);
  not_opened("[a]", "DATASETS.a: {IMAGES: ., ANNOTATIONS: .}\n",
             "x.yaml:5: TRAIN.DATASETS: a: cannot read .: it is a folder");
  write_file(path, "{\"images\": [");
  not_opened("[a]", "DATASETS.a: {IMAGES: ., ANNOTATIONS: " + path + "}\n",
             "x.yaml:5: TRAIN.DATASETS: a: " + path + ": not JSON");
  not_opened("[mine, yours]", mine + declared("yours", {"cat", "cow"}),
             "x.yaml:5: TRAIN.DATASETS: ", "category 2 is 'dog' in mine, but 'cow' in yours");
}

TEST_F(DataSetsTest, HaveTheClassesOfTheNetwork) {
  const std::string mine = declared("mine", animals_);
  expect_error([&] { open("[mine]", mine); },
               "x.yaml:1: MODEL.NUM_CLASSES is 81, but mine of TRAIN.DATASETS needs 3: the "
               "background, cat, dog");
  expect_error(
      [&] {
        open("[mine]", mine, {"MODEL.NUM_CLASSES", "4"});
      },
      "command line: MODEL.NUM_CLASSES is 4");
  EXPECT_NO_THROW(open("[mine]", mine, {"MODEL.RPN_ONLY", "True"}));
  const DetectorConfig config = read(mine);
  expect_error([&] { open_pictures(config, {"mine"}, "TEST.DATASETS"); }, "mine of TEST.DATASETS");
}

// `lockstep test` scores each set alone, so a set without masks is not made good by another.
TEST_F(DataSetsTest, OfATestOfMasksHaveMasksEach) {
  const auto with_object = [&](const std::string& name, bool outlined) {
    Annotations table;
    table.categories = {{1, "cat", {}, {}}, {2, "dog", {}, {}}};
    table.images.push_back({1, "a.jpg", 10, 20});
    CocoObject object;
    object.id = 1;
    object.bbox = {1, 1, 6, 6};
    object.area = 36;
    if (outlined) {
      table.coordinates = {1, 1, 7, 1, 7, 7, 1, 7};
      table.polygons = {{0, 8}};
      object.polygons = {0, 1};
    }
    table.objects = {object};
    table.first_object = {0, 1};
    const std::string path = folder / (name + ".json");
    write_annotations(path, table);
    return "DATASETS." + name + ": {IMAGES: " + folder.path() + ", ANNOTATIONS: " + path + "}\n";
  };
  const std::string both = with_object("masked", true) + with_object("boxes", false);
  const auto open_for_test = [&](const std::string& sets, const std::string& key,
                                 const char* mask_on) {
    const DetectorConfig config =
        read(key + ": " + sets + "\n" + both,
             {"MODEL.NUM_CLASSES", "3", "MODEL.MASK_ON", mask_on, "MRCNN.ROI_MASK_HEAD",
              "mask_rcnn_heads.mask_rcnn_fcn_head_v1up4convs", "MRCNN.ROI_XFORM_RESOLUTION", "7"});
    const bool trains = key == "TRAIN.DATASETS";
    return open_pictures(config, (trains ? config.train.data : config.test.data).datasets, key)
        ->annotations()
        .images.size();
  };
  const auto refused_for_test = [&](const std::string& sets) {
    expect_error([&] { open_for_test(sets, "TEST.DATASETS", "True"); },
                 "x.yaml:5: TEST.DATASETS: boxes: ",
                 "boxes.json: no annotation has a 'segmentation', so the masks of MODEL.MASK_ON");
  };
  refused_for_test("[boxes]");
  refused_for_test("[masked, boxes]");
  EXPECT_EQ(open_for_test("[masked]", "TEST.DATASETS", "True"), 1U);
  EXPECT_EQ(open_for_test("[masked, boxes]", "TEST.DATASETS", "False"), 2U);
  EXPECT_EQ(open_for_test("[masked, boxes]", "TRAIN.DATASETS", "True"), 2U);
}

}  // namespace
}  // namespace lockstep::testing
