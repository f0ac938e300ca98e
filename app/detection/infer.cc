// SPDX-License-Identifier: Apache-2.0
#include "app/detection/infer.h"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <optional>
#include <set>

#include "app/detection/datasets/keypoint_rules.h"
#include "app/detection/datasets/point_names.h"
#include "app/detection/find/box_finder.h"
#include "app/detection/network.h"
#include "app/detection/results/drawn_boxes.h"
#include "app/detection/results/found_json.h"
#include "app/detection/weights.h"
#include "app/model_source.h"
#include "app/predict/output_folder.h"
#include "app/record/json_text.h"
#include "app/train/run_folder.h"
#include "app/train/weights.h"
#include "data/image.h"
#include "graph/printable.h"
#include "lockstep/data_parallel.h"
#include "lockstep/model_files.h"
#include "lockstep/operators.h"
#include "models/detection/inputs.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

// The file with the network's metadata: the trained network itself, or the step of its run. Empty
// if there is no file.
TrainingModel file_of(const DetectorRun& run) {
  const std::string path = is_onnx(run.weights) ? run.weights : step_in(run.folder);
  return fs::exists(path) ? load_model(all_ops(), path).model : TrainingModel(all_ops());
}

// The classes and the names of their keypoints.
std::vector<CocoCategory> categories_of(const TrainingModel& file) {
  std::vector<CocoCategory> categories;
  const auto said = file.metadata.find("categories");
  if (said == file.metadata.end()) return categories;
  const auto list = nlohmann::json::parse(said->second, nullptr, false);
  if (!list.is_array()) return categories;
  for (const auto& name : list)
    if (name.is_string()) categories.emplace_back().name = name;
  for (const auto& [kind, points] : point_names_in(file))
    for (CocoCategory& category : categories)
      if (category.name == kind) category.keypoints = points;
  return categories;
}

// The parameters in a trained network's file, by their names.
StateValues values_in(const TrainingModel& file, const TrainingModel& of) {
  StateValues values;
  for (const State& state : of.states)
    if (const Value value = file.inference.find(state.name); value)
      if (const Literal* literal = file.inference.literal(value))
        values.emplace(state.name, *literal);
  return values;
}

class PictureDetector {
 public:
  PictureDetector(DetectorConfig config, const DetectorRun& run, const TrainingModel& file)
      : config_(on_one_replica(std::move(config))),
        categories_(categories_of(file)),
        model_(detector_step(config_, {config_.network.shape.height, config_.network.shape.width})),
        session_(model_, all_devices(config_.run), all_kernels(),
                 session_options(config_, config_.run.threads, nullptr)),
        finder_(config_, session_, rules_of(file, run)) {
    const WeightsOptions whole = trained_weights(config_, run.weights);
    if (is_onnx(run.weights))
      load_weights(session_, values_in(file, model_), whole);
    else
      load_weights(session_, whole);
  }

  FoundBoxes find(const Image& image) { return finder_.find(list_of_pictures({&image, 1})).at(0); }
  const std::vector<CocoCategory>& categories() const { return categories_; }
  const std::string& confidence() const { return config_.network.krcnn.keypoint_confidence; }

 private:
  KeypointRules rules_of(const TrainingModel& file, const DetectorRun& run) const {
    KeypointRules rules = keypoint_rules_in(file);
    check_rules_suffice(config_, rules, run.weights);
    return rules;
  }

  DetectorConfig config_;
  std::vector<CocoCategory> categories_;
  TrainingModel model_;
  Session session_;
  BoxFinder finder_;
};

// The names of the output files, without suffix. Pictures of equal names in different folders get a
// number.
std::vector<std::string> output_names(const std::vector<std::string>& files) {
  std::set<std::string> used;
  std::vector<std::string> names;
  for (const std::string& file : files) {
    const std::string stem = fs::path(file).stem().string();
    std::string name = stem;
    for (int times = 2; !used.insert(name).second; ++times) name = join(stem, ".", times);
    names.push_back(name);
  }
  return names;
}

// Throws if an output file would overwrite a picture.
void check_overwrites_none(const std::string& folder, const std::vector<std::string>& names,
                           const std::vector<std::string>& files) {
  std::error_code trouble;
  std::set<fs::path> pictures;
  for (const std::string& file : files) pictures.insert(fs::weakly_canonical(file, trouble));
  for (const std::string& name : names)
    check(pictures.count(fs::weakly_canonical(folder + "/" + name, trouble)) == 0,
          "--out: ", folder, "/", name,
          " is one of the pictures and would be overwritten; choose another folder");
}

std::vector<std::string> output_files(const std::vector<std::string>& outputs) {
  std::vector<std::string> files;
  for (const std::string& output : outputs)
    for (const char* ending : {".png", ".json"}) files.push_back(output + ending);
  return files;
}

ordered_json json_of(const std::string& file, const Image& image, const FoundBoxes& boxes,
                     const PictureDetector& detector) {
  return {{"picture", file},
          {"height", image.height},
          {"width", image.width},
          {"objects", json_of_objects(boxes, detector.categories(), detector.confidence())}};
}

struct SeenPicture {
  FoundBoxes boxes;
  std::optional<FoundBox> best;  // of all boxes, including boxes below the threshold
  std::string png, json;
};
SeenPicture look_at(PictureDetector& detector, const std::string& file,
                    const InferOptions& options) {
  const Image image = read_image(file);
  SeenPicture seen{detector.find(image), {}, "", ""};
  if (!seen.boxes.empty()) seen.best = seen.boxes.front();
  std::erase_if(seen.boxes, [&](const FoundBox& box) { return box.score < options.threshold; });
  if (options.out.empty()) return seen;
  seen.png = png_of(with_boxes(image, seen.boxes, detector.categories()));
  seen.json = json_text(json_of(file, image, seen.boxes, detector));
  return seen;
}

void print(const SeenPicture& seen, const PictureDetector& detector, double threshold) {
  const FoundBoxes& boxes = seen.boxes;
  for (std::size_t i = 0; i < boxes.size(); ++i)
    std::cout << (i == 0 ? "  " : ", ") << found_text(boxes[i], detector.categories());
  if (boxes.empty())
    std::cout << "  nothing"
              << (seen.best ? join(" with a score of at least ", threshold,
                                   " (--threshold); the best is ",
                                   found_text(*seen.best, detector.categories()))
                            : " at all");
  std::cout << "\n";
}

}  // namespace

int find_in_pictures(DetectorConfig config, const DetectorRun& run, const InferOptions& options) {
  check(!takes_proposals(config.network), config.path,
        ": a network without an RPN needs proposals; `lockstep test` reads them from files");
  const std::vector<std::string> files = pictures_named(options.files);
  const std::vector<std::string> outputs = output_names(files);
  OutputFolder folder(options.out);
  if (folder.exists()) check_overwrites_none(options.out, output_files(outputs), files);
  folder.check_replaceable(output_files(outputs));
  PictureDetector detector(std::move(config), run, file_of(run));
  int unreadable = 0;
  for (std::size_t i = 0; i < files.size(); ++i) {
    std::cout << printable(files[i]) << std::flush;
    SeenPicture seen;
    try {
      seen = look_at(detector, files[i], options);
    } catch (const Error& error) {
      std::cout << "  unreadable\n" << std::flush;
      std::cerr << "lockstep: " << printable_lines(error.what()) << "\n";
      ++unreadable;
      continue;
    }
    if (folder.exists()) {
      folder.write(outputs[i] + ".png", seen.png);
      folder.write(outputs[i] + ".json", seen.json);
    }
    print(seen, detector, options.threshold);
  }
  check(unreadable == 0, unreadable, " of ", files.size(), " pictures could not be read");
  return 0;
}

}  // namespace lockstep
