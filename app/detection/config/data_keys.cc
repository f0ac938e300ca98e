// SPDX-License-Identifier: Apache-2.0
// The keys of data sets: DATASETS, DATA_DIR, DATA and SCENES.
#include <algorithm>

#include "app/detection/config/key_tables.h"
#include "app/detection/datasets/data_sets.h"
#include "app/detection/datasets/keypoint_declarations.h"
#include "graph/listed.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

constexpr double kMostScenes = 1 << 20;

// True if the name can be part of file names.
bool is_name_of_set(const std::string& name) {
  constexpr const char* kOfNames =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
  return name.find_first_not_of(kOfNames) == name.npos && name[0] != '.' && name[0] != '-';
}

std::string declared_names(const NamedSections& declared) {
  std::vector<std::string> names;
  for (const auto& [name, section] : declared.sections) names.push_back(name);
  return listed(names);
}

}  // namespace

// Processes may have the data in different folders.
ConfigKeys detector_data_keys(DetectorConfig& c) {
  DetectionSets& sets = c.sets;
  return {
      {"DATASETS",
       &sets.declared,
       "data sets of your own: IMAGES is a folder, ANNOTATIONS a file in COCO's form; or VOC is "
       "a folder of Pascal VOC such as VOCdevkit/VOC2007, LIST a list of its pictures such as "
       "trainval, and CLASSES their classes if they are not Pascal's: 'cup, spoon'. "
       "DATASETS.NAME.IMAGES can be set as a key, too. For scores of keypoints, KEYPOINT_SIGMAS is "
       "a "
       "number for each point, such as [0.05, 0.1]; KEYPOINT_FLIPS are the pairs of points that a "
       "mirrored picture swaps, such as [[fin_a, fin_b]], if their names do not differ in left_ "
       "and "
       "right_",
       {.alike = [&sets] { return declared_names(sets.declared); }}},
      {"DATA_DIR",
       &sets.data_dir,
       "folder of the data sets that Detectron has names for, such as coco/annotations and "
       "coco/coco_train2014",
       {.own = true}},
      {"DATA.EXIF",
       &sets.exif,
       "annotations refer to pictures turned as their EXIF block says; false: to pictures as "
       "stored. Matters only if the annotated size fits both",
       {.remembered = true}},
      {"SCENES.TRAIN",
       &sets.train_scenes,
       "number of pictures of scenes_train, which are generated",
       {.least = 1, .most = kMostScenes, .remembered = true}},
      {"SCENES.VAL",
       &sets.val_scenes,
       "number of pictures of scenes_val; none of them is in scenes_train",
       {.least = 1, .most = kMostScenes}}};
}

void check_declared_sets(const DetectorConfig& config) {
  const NamedSections& declared = config.sets.declared;
  for (const auto& [name, section] : declared.sections) {
    const std::string key = "DATASETS." + name;
    std::string at = config.path;
    for (const auto& [field, text] : section)
      if (config.origins.is_set(key + "." + field)) at = config.origins.of(key + "." + field);
    check(is_name_of_set(name), at, ": ", key,
          ": a data set's name should have letters, digits, _, - and . only");
    check(name != kScenesTrain && name != kScenesVal, at, ": ", key,
          " is the name of generated pictures, which are built in; choose another name");
    const auto given = [&section = section](const std::string& field) {
      const auto found = section.find(field);
      return found != section.end() && !found->second.empty();
    };
    const bool is_voc =
        std::any_of(declared.other_fields.begin(), declared.other_fields.end(), given);
    const std::vector<std::string> needed =
        is_voc ? std::vector<std::string>{"VOC", "LIST"} : declared.fields;
    for (const std::string& field : needed)
      check(given(field), at, ": ", key, " has no ", field, "; it should have ",
            declared.fields_text());
    for (const std::string& field : declared.fields)
      check(!is_voc || !given(field), at, ": ", key, " has both ", field, " and ",
            given("VOC") ? "VOC" : "LIST", "; it should have ", declared.fields_text());
    for (const std::string& field : declared.list_fields)
      check(!is_voc || !given(field), at, ": ", key, " has ", field,
            ", but a set of Pascal VOC has no keypoints");
    check_keypoint_declarations(config, name);
  }
}

}  // namespace lockstep
