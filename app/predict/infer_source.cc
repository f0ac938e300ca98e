// SPDX-License-Identifier: Apache-2.0
#include "app/predict/infer_source.h"

#include <filesystem>

#include "app/classification/config.h"
#include "app/classification/network.h"
#include "app/detection/network.h"
#include "app/detection/task.h"
#include "app/detection/types.h"
#include "app/model_source.h"
#include "app/text/config.h"
#include "app/text/network.h"
#include "app/text/types.h"
#include "app/train/chosen_run.h"
#include "app/train/run_folder.h"
#include "app/train/run_place.h"
#include "app/train/weights.h"
#include "graph/printable.h"
#include "operators/all.h"
#include "runtime/state/checkpoint.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

std::string series_in(const ConfigFiles& files) {
  if (is_detector(files, {})) return series_of(read_detector_config(files, {}));
  Origins origins;
  if (is_language_model(files, {})) return read_text_config(files, {}, 1, origins).output_dir;
  return read_config(files, {}, 1, origins).output_dir;
}

// Why the checkpoint is not of the file's network.
std::string other_network_than(const ConfigFiles& files, const std::string& folder) {
  const std::string checkpoint = last_checkpoint_in(folder);
  if (is_detector(files, {})) {
    const DetectorConfig config = read_detector_config(files, {});
    const DetectionShape& shape = config.network.shape;
    return other_network(detector_step(config, {shape.height, shape.width}), checkpoint);
  }
  Origins origins;
  if (!is_language_model(files, {}))
    return other_network(build_configured_model(read_config(files, {}, 1, origins)), checkpoint);
  const std::string step = step_in(folder);
  const auto characters =
      static_cast<int64_t>(vocabulary_in(load_model(all_ops(), step).model, step).size());
  return other_network(build_language_step(read_text_config(files, {}, 1, origins), characters),
                       checkpoint);
}

// With weights of their own, any run with a network will do.
std::string newest_run(const InferOptions& options) {
  const ConfigFiles files = config_files(options.source);
  const std::string series = series_in(files);
  const ChosenRun chosen = choose_run(series, [&](const std::string& folder) -> std::string {
    if (!options.weights.empty()) return fs::exists(step_in(folder)) ? "" : "contains no step.onnx";
    const std::string why = lacks_checkpoint(folder);
    return why.empty() ? other_network_than(files, folder) : why;
  });
  check(!chosen.folder.empty() || !chosen.passed_over.empty(), options.source,
        ": there is no run in '", series, "' yet; `lockstep train ", options.source,
        "` starts one");
  check(!chosen.folder.empty(), options.source, ": no run of '", series,
        "' fits; name the folder of another one:", reasons_of(chosen));
  if (const std::string said = text_of(chosen); !said.empty()) say_on_terminal(said);
  return chosen.folder;
}

std::string run_of(const InferOptions& options) {
  const std::string folder =
      options.weights.empty() ? run_meant_by(options.source, say_on_terminal) : options.source;
  if (fs::is_directory(folder)) return folder;
  check(is_yaml(options.source), "'", options.source,
        "' is neither a model.onnx nor a CONFIG.yaml nor a run's folder");
  return newest_run(options);
}

// A detector's file says what it finds, its run's configuration how pictures are prepared for it.
InferSource source_of_model(const InferOptions& options) {
  check(options.weights.empty(), "--weights does not apply to ", options.source,
        ", which contains its weights");
  TrainingModel model = load_model(all_ops(), options.source).model;
  if (!model.metadata.count("categories")) return {"", options.source, {}, std::move(model)};
  check(model.step.node_count() == 0, options.source,
        ": is a training step; model.onnx in the folder of its run is the trained network");
  const fs::path folder = fs::path(options.source).parent_path();
  const std::string config = (folder / "config.yaml").string();
  check(fs::exists(config), options.source, ": is a detector, but there is no ", config,
        ", which says how pictures are prepared for it; keep the file in its run's folder, or name "
        "that folder instead");
  const ConfigFiles files = config_files(config);
  check(is_detector(files, {}), options.source, ": is a detector, but ", config,
        " beside it describes another network");
  return {folder.string(), options.source, files, std::move(model)};
}

// How to infer with the weights of a run whose newest checkpoint is gone.
std::string offer_for_infer(const std::string& folder) {
  return offer_of_previous(folder,
                           join("use it with:  lockstep infer ", shell_word(folder), " --weights ",
                                shell_word(previous_of(checkpoint_in(folder)))));
}

}  // namespace

// A run is configured as its folder says, whatever has become of the file that began it.
InferSource source_of(const InferOptions& options) {
  if (is_onnx(options.source)) return source_of_model(options);
  const std::string folder = run_of(options), config = folder + "/config.yaml";
  InferSource source{
      folder, options.weights.empty() ? checkpoint_in(folder) : options.weights, {}, {}};
  if (fs::exists(config)) source.config = config_files(config);
  check(fs::exists(source.weights), "'", source.weights, "' does not exist",
        options.weights.empty() ? offer_for_infer(folder) : "");
  check_weights(source.weights);
  return source;
}

TrainedNetwork classifier_of(const InferSource& source) {
  return is_onnx(source.weights) ? load_trained(source.weights)
                                 : trained_from(source.weights, step_in(source.folder));
}

std::optional<TrainingModel> language_model_of(InferSource& source) {
  if (source.model) {
    if (!source.model->metadata.count("vocabulary")) return std::nullopt;
    check(source.model->step.node_count() == 0, source.weights,
          ": is a training step; model.onnx in the folder of its run is the trained network");
    return std::move(source.model);
  }
  if (!source.config || !is_language_model(*source.config, {})) return std::nullopt;
  return network_with_values(source.weights, step_in(source.folder));
}

}  // namespace lockstep
