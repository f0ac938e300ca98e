// SPDX-License-Identifier: Apache-2.0
#include "app/detection/datasets/data_sets.h"

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "app/config/read.h"
#include "app/detection/datasets/catalogue.h"
#include "app/detection/datasets/keypoint_declarations.h"
#include "data/coco/read_annotations.h"
#include "data/detection/joined_pictures.h"
#include "data/voc/read_voc.h"
#include "graph/listed.h"
#include "graph/nearest.h"
#include "lockstep/error.h"
#include "models/detection/detector.h"

namespace lockstep {
namespace {

// The classes of "cup, spoon".
std::vector<std::string> classes_in(const std::string& text) {
  constexpr const char* kSpaces = " \t";
  std::vector<std::string> classes;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) {
    word.erase(word.find_last_not_of(kSpaces) + 1);
    word.erase(0, word.find_first_not_of(kSpaces));
    classes.push_back(word);
  }
  return classes;
}

bool is_voc(const NamedSections::Section& section) {
  const auto folder = section.find("VOC");
  return folder != section.end() && !folder->second.empty();
}

VocSet voc_set(const NamedSections::Section& section) {
  VocSet set{section.at("VOC"), section.at("LIST")};
  const auto classes = section.find("CLASSES");
  if (classes != section.end() && !classes->second.empty())
    set.classes = classes_in(classes->second);
  return set;
}

class SetOpener {
 public:
  SetOpener(const DetectorConfig& config, const std::string& key)
      : config_(config), sets_(config.sets), at_(config.origins.blame({key}, config.path)) {}

  std::unique_ptr<PictureSet> open(const std::string& name) const {
    const auto declared = sets_.declared.sections.find(name);
    if (declared != sets_.declared.sections.end()) {
      const NamedSections::Section& section = declared->second;
      const auto see = [&](const char* field) {
        return "see " + said("DATASETS." + name + "." + field);
      };
      if (is_voc(section)) return of_voc(name, voc_set(section), see("VOC"));
      return of_files(name, {section.at("IMAGES"), section.at("ANNOTATIONS")}, see("IMAGES"),
                      see("ANNOTATIONS"));
    }
    if (name == kScenesTrain)
      return std::make_unique<ScenePictures>(SceneOptions{.count = sets_.train_scenes});
    if (name == kScenesVal)
      return std::make_unique<ScenePictures>(
          SceneOptions{.count = sets_.val_scenes, .held_out = true});
    const auto files = detectron_set(name, sets_.data_dir);
    if (!files) refuse(name);
    const std::string where = join("it follows from DATA_DIR, which is '", sets_.data_dir, "' (",
                                   config_.origins.of("DATA_DIR"), ")");
    std::error_code ignored;
    if (files->is_voc() && !std::filesystem::exists(files->annotations, ignored) &&
        std::filesystem::exists(VocSet{files->voc, files->list}.list_path(), ignored))
      return of_voc(name, {files->voc, files->list}, where);
    return of_files(name, *files, where, where);
  }

 private:
  std::string said(const std::string& key) const {
    return join(key, " (", config_.origins.of(key), ")");
  }

  // `images_by` and `annotations_by` say which key gives the path.
  std::unique_ptr<PictureSet> of_files(const std::string& name, const PictureFiles& files,
                                       const std::string& images_by,
                                       const std::string& annotations_by) const {
    const auto need = [&](bool holds, const std::string& what, const std::string& path,
                          const std::string& by) {
      check(holds, at_, ": ", name, ": there is no ", what, " ", path, "; ", by);
    };
    std::error_code ignored;
    need(std::filesystem::exists(files.annotations, ignored), "file", files.annotations,
         annotations_by);
    need(std::filesystem::is_directory(files.images, ignored), "folder", files.images, images_by);
    Annotations table;
    prefixing(join(at_, ": ", name), [&] { table = read_annotations(files.annotations); });
    table.pascal = files.is_voc();
    if (sets_.declared.sections.count(name) > 0) declare_keypoints(config_, name, table);
    return std::make_unique<FilePictures>(files.images, std::move(table), sets_.exif);
  }

  // A set of Pascal VOC. `by` says which key gives its folder.
  std::unique_ptr<PictureSet> of_voc(const std::string& name, const VocSet& set,
                                     const std::string& by) const {
    std::error_code ignored;
    check(std::filesystem::is_directory(set.folder, ignored), at_, ": ", name,
          ": there is no folder ", set.folder, "; ", by);
    std::unique_ptr<PictureSet> pictures;
    prefixing(join(at_, ": ", name), [&] {
      pictures = std::make_unique<FilePictures>(set.pictures(), read_voc(set), sets_.exif);
    });
    return pictures;
  }

  [[noreturn]] void refuse(const std::string& name) const {
    std::vector<std::string> known = detectron_set_names();
    known.insert(known.end(), {kScenesTrain, kScenesVal});
    for (const auto& [declared, section] : sets_.declared.sections) known.push_back(declared);
    const std::string near = nearest(name, known);
    fail(at_, ": there is no data set '", name, "'",
         near.empty() ? "." : "; did you mean " + near + "?",
         " Declare a data set of your own as DATASETS: {", name.empty() ? "NAME" : name,
         ": {IMAGES: folder, ANNOTATIONS: file.json}}, or one of Pascal VOC as {VOC: folder, "
         "LIST: trainval}");
  }

  const DetectorConfig& config_;
  const DetectionSets& sets_;
  std::string at_;
};

std::string some_classes_of(const std::vector<CocoCategory>& categories) {
  constexpr std::size_t kMost = 8;
  std::vector<std::string> names{"the background"};
  for (const CocoCategory& category : categories) names.push_back(category.name);
  return first_listed(names, kMost + 1);
}

void check_number_of_classes(const DetectorConfig& config, const Annotations& table,
                             const std::string& names, const std::string& key) {
  const DetectionModelOptions& model = config.network.model;
  const auto classes = static_cast<int64_t>(table.categories.size()) + 1;
  check(model.rpn_only || model.num_classes == classes,
        config.origins.blame({"MODEL.NUM_CLASSES"}, config.path), " is ", model.num_classes,
        ", but ", names, " of ", key, " needs ", classes, ": ", some_classes_of(table.categories));
}

// `lockstep test` scores each set alone, so each set needs keypoints and masks of its own.
void check_can_be_scored(const DetectorConfig& config, const Annotations& table,
                         const std::string& name, const std::string& key) {
  check_keypoints(config, table, name, key);
  if (!has_mask_head(config.network)) return;
  const auto has_shape = [](const CocoObject& object) {
    return object.mask >= 0 || object.polygons.count > 0;
  };
  check(table.objects.empty() || std::any_of(table.objects.begin(), table.objects.end(), has_shape),
        config.origins.blame({key}, config.path), ": ", name, ": ", table.path,
        ": no annotation has a 'segmentation', so the masks of MODEL.MASK_ON cannot be scored");
}

}  // namespace

std::vector<std::string> names_of_sets(const char* generated) {
  std::vector<std::string> names{generated};
  const std::vector<std::string> known = detectron_set_names();
  names.insert(names.end(), known.begin(), known.end());
  return names;
}

std::vector<std::string> annotation_files(const DetectorConfig& config,
                                          const std::vector<std::string>& names) {
  std::vector<std::string> files;
  const auto& declared = config.sets.declared.sections;
  for (const std::string& name : names)
    if (const auto own = declared.find(name); own != declared.end()) {
      files.push_back(is_voc(own->second) ? voc_set(own->second).list_path()
                                          : own->second.at("ANNOTATIONS"));
    } else if (const auto known = detectron_set(name, config.sets.data_dir)) {
      files.push_back(known->annotations);
      if (known->is_voc()) files.push_back(VocSet{known->voc, known->list}.list_path());
    }
  return files;
}

std::unique_ptr<PictureSet> open_pictures(const DetectorConfig& config,
                                          const std::vector<std::string>& names,
                                          const std::string& key) {
  const std::string at = config.origins.blame({key}, config.path);
  check(!names.empty(), at,
        " names no data set; name scenes_train or a set that DATASETS declares");
  const SetOpener opener(config, key);
  std::vector<NamedPictures> sets;
  for (const std::string& name : names) {
    check(std::count(names.begin(), names.end(), name) == 1, at, " names ", name, " twice");
    sets.push_back({name, opener.open(name)});
    if (key == "TEST.DATASETS")
      check_can_be_scored(config, sets.back().pictures->annotations(), name, key);
  }
  std::unique_ptr<PictureSet> pictures;
  if (sets.size() == 1)
    pictures = std::move(sets.front().pictures);
  else
    prefixing(at, [&] { pictures = std::make_unique<JoinedPictures>(std::move(sets)); });
  check_number_of_classes(config, pictures->annotations(), listed(names, " + "), key);
  check_keypoints(config, pictures->annotations(), listed(names, " + "), key);
  return pictures;
}

}  // namespace lockstep
