// SPDX-License-Identifier: Apache-2.0
#include "app/predict/infer_source.h"

#include <filesystem>

#include "app/model_source.h"
#include "app/task_kind.h"
#include "app/train/chosen_run.h"
#include "app/train/run_folder.h"
#include "app/train/run_place.h"
#include "app/train/weights.h"
#include "graph/printable.h"
#include "lockstep/checkpoint.h"
#include "lockstep/operators.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

// Throws for a task that `infer` refuses.
const TaskKind& kind_with_inference(const ConfigFiles& files) {
  const TaskKind& kind = task_kind_of(files, {});
  if (!kind.no_infer.empty()) {
    const auto said = said_of("MODEL.TYPE", files, {});
    fail(said->at, ": MODEL.TYPE ", said->text, " ", kind.no_infer);
  }
  return kind;
}

// With --weights, any run with a step.onnx fits.
std::string newest_run(const InferOptions& options) {
  const ConfigFiles files = config_files(options.source);
  const auto scorer = kind_with_inference(files).scorer({files, {}});
  const std::string series = scorer->series();
  const ChosenRun chosen = choose_run(series, [&](const std::string& folder) -> std::string {
    if (!options.weights.empty()) return fs::exists(step_in(folder)) ? "" : "contains no step.onnx";
    const std::string why = lacks_checkpoint(folder);
    return why.empty() ? scorer->other_network(last_checkpoint_in(folder)) : why;
  });
  check(!chosen.folder.empty() || !chosen.passed_over.empty(), options.source,
        ": there is no run in '", series, "' yet; `lockstep train ", options.source,
        "` starts one");
  check(!chosen.folder.empty(), options.source, ": no run of '", series,
        "' fits; name the folder of another run:", reasons_of(chosen));
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

InferSource source_of_model(const InferOptions& options) {
  check(options.weights.empty(), "--weights does not apply to ", options.source,
        ", which contains its weights");
  TrainingModel model = load_model(all_ops(), options.source).model;
  const TaskKind& kind = task_kind_of(model);
  check(kind.no_infer.empty(), options.source, ": the network ", kind.no_infer);
  check(model.step.node_count() == 0, options.source,
        ": is a training step; model.onnx in the folder of its run is the trained network, which "
        "`lockstep export RUN -o model.onnx` writes");
  return {&kind, "", options.source, {}, std::move(model)};
}

// Explains how to infer with the previous checkpoint if the newest is gone.
std::string offer_for_infer(const std::string& folder) {
  return offer_of_previous(folder,
                           join("use it with:  lockstep infer ", shell_word(folder), " --weights ",
                                shell_word(previous_of(checkpoint_in(folder)))));
}

}  // namespace

// The configuration is the copy in the run's folder, even if the original file has changed.
InferSource source_of(const InferOptions& options) {
  if (is_onnx(options.source)) return source_of_model(options);
  const std::string folder = run_of(options), config = folder + "/config.yaml";
  InferSource source{&task_kinds().front(), folder,
                     options.weights.empty() ? checkpoint_in(folder) : options.weights};
  if (fs::exists(config)) {
    source.config = config_files(config);
    source.kind = &kind_with_inference(*source.config);
  }
  check(fs::exists(source.weights), "'", source.weights, "' does not exist",
        options.weights.empty() ? offer_for_infer(folder) : "");
  check_weights(source.weights);
  return source;
}

}  // namespace lockstep
