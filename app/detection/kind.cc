// SPDX-License-Identifier: Apache-2.0
#include <filesystem>

#include "app/detection/config/functions.h"
#include "app/detection/config/types.h"
#include "app/detection/detector_source.h"
#include "app/detection/exported.h"
#include "app/detection/infer.h"
#include "app/detection/scorer.h"
#include "app/detection/train/task.h"
#include "app/detection/weights.h"
#include "app/task_kind.h"
#include "graph/print.h"
#include "lockstep/error.h"

namespace lockstep::detection_task {
namespace {

constexpr const char* kPage =
    "# Keys of a detector's configuration\n\n"
    "A CONFIG.yaml with the `MODEL.TYPE` of a detector has these keys; [detectors]"
    "(detection.md#configuration) says how they are read.\n"
    "Every other file has [the keys of classification](configuration.md), [of language "
    "models](text_keys.md), [of arrays](arrays_keys.md) or [of control](control_keys.md). `train`, "
    "`test`,\n`build`, `plan` and "
    "`inspect` read the "
    "file, and `KEY VALUE` pairs on the command line override it. The last column gives "
    "Detectron's name of a key; it is empty for\n"
    "Lockstep's own keys. `lockstep keys --task detection` prints this list, and with "
    "`--markdown` it writes this page.\n";

// A function's name has many spellings; shells complete one of them.
OwnedKeys keys() {
  OwnedKeys owned = owned_keys<DetectorConfig>();
  for (const FunctionKey& function : function_keys())
    for (ConfigKey& key : owned.keys)
      if (key.key == function.key) key.facts.words = names_of(function);
  return owned;
}

DetectorConfig read(const ConfigRequest& config) {
  return read_detector_config(config.files, config.words, config.processes);
}

std::string yaml(const ConfigRequest& request) {
  DetectorConfig config = read(request);
  std::string notes;
  for (const DetectorNote& note : config.notes) notes += "# " + note.text + "\n";
  return notes + yaml_with_origins(keys_of(config), config.origins);
}

KeyTexts entries(const ConfigRequest& request) {
  DetectorConfig config = read(request);
  return entries_of(keys_of(config));
}

std::unique_ptr<Task> task(const ConfigRequest& request) {
  DetectorConfig config = read(request);
  check(config.misfit.empty(), config.misfit);
  return std::make_unique<DetectionTask>(std::move(config));
}

SourcedModel step(const ConfigRequest& request, const ModelRequest& wish) {
  std::vector<std::string> words = request.words;
  if (wish.batch > 0)
    words.insert(words.end(), {"TRAIN.IMS_PER_BATCH", std::to_string(wish.batch)});
  DetectorConfig config = read({request.files, words});
  choose_passes(wish, config.step);
  return detector_from(config);
}

std::unique_ptr<Scorer> scorer(const ConfigRequest& request) {
  std::vector<std::string> files;
  for (const ConfigFile& file : request.files) files.push_back(file.path);
  return detector_scorer(read(request), std::move(files));
}

WeightsOptions first_weights(const ConfigRequest& request, const std::string& path) {
  std::vector<std::string> words = request.words;
  words.insert(words.end(), {"TRAIN.WEIGHTS", path});
  return weights_to_start_from(read({request.files, words}));
}

// A detector's file names the objects that it finds. The configuration of its run says how to
// prepare pictures.
void find_run(InferSource& source) {
  const std::filesystem::path folder = std::filesystem::path(source.weights).parent_path();
  const std::string config = (folder / "config.yaml").string();
  check(std::filesystem::exists(config), source.weights, ": is a detector, but there is no ",
        config,
        ", which says how to prepare pictures for the detector; keep the file in the folder of its "
        "run, or name that folder instead");
  source.folder = folder.string();
  source.config = config_files(config);
  check(&task_kind_of(*source.config, {}) == source.kind, source.weights, ": is a detector, but ",
        config, " beside it describes another network");
}

int infer(InferSource source, const InferOptions& options) {
  if (source.model) find_run(source);
  return find_in_pictures(read({*source.config, {}}), {source.folder, source.weights}, options);
}

std::string describe(TrainingModel& network, const RunFiles& /*files*/) {
  const std::string left_out = left_out_of_file(network);
  return join("a detector, takes ", network.inference.type(input_of(network.inference)),
              left_out.empty() ? "" : ", without " + left_out);
}

void fit(TrainingModel& network, const ConfigFiles& files, const std::string& image) {
  std::vector<std::string> words;
  if (!image.empty()) words = {"IMAGE", image};
  DetectorConfig config = read({files, words});
  fit_for_export(network, std::move(config), image.empty());
}

std::vector<std::string> names_of_types() {
  std::vector<std::string> names;
  for (const DetectorType& type : detector_types()) names.push_back(type.name);
  return names;
}

}  // namespace
}  // namespace lockstep::detection_task

namespace lockstep {

TaskKind detection_kind() {
  using namespace detection_task;
  return {.name = "detection",
          .network = "a detector",
          .mark = "categories",
          .types = names_of_types(),
          .datasets = {},
          .page = kPage,
          .keys = keys,
          .yaml = yaml,
          .entries = entries,
          .task = task,
          .step = step,
          .scorer = scorer,
          .infer_options = {"--threshold"},
          .no_infer = "",
          .infer = infer,
          .describe = describe,
          .first_weights = first_weights,
          .fit = fit};
}

}  // namespace lockstep
