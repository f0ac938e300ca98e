// SPDX-License-Identifier: Apache-2.0
#include "app/model_source.h"

#include <algorithm>
#include <map>
#include <utility>

#include "app/classification/config.h"
#include "app/classification/network.h"
#include "app/config/read.h"
#include "app/config/trained_keys.h"
#include "app/onnx/initializer_notes.h"
#include "app/onnx/network_file.h"
#include "app/task_kind.h"
#include "builders/net/trained_initializers.h"
#include "builders/step/forward.h"
#include "lockstep/data_parallel.h"
#include "lockstep/imported.h"
#include "lockstep/models.h"
#include "lockstep/operators.h"
#include "lockstep/optimizers.h"

namespace lockstep {
namespace {

bool ends_with(const std::string& text, std::string_view end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

constexpr int64_t kUsualBatch = 32;  // images per replica

// Reads keys that apply to the source. A known key that does not apply gets an error of its kind,
// not the error for a misspelt key.
void read_words_for(const ModelRequest& request, ConfigKeys keys, const char* takes) {
  ClassificationConfig config;
  ConfigKeys all = keys_of(config);
  for (std::size_t i = 0; i < request.settings.size(); i += 2)
    if (const ConfigKey* known = find_key(all, request.settings[i]))
      check(find_key(keys, known->key),
            "command line: ", request.settings[i] == known->key ? "" : request.settings[i] + ": ",
            known->key, " does not apply to ", request.source, ", which accepts ", takes,
            " only; a CONFIG.yaml accepts all keys");
  read_words(keys, request.settings);
}

struct Settings {
  RunSettings run{.threads = 1};
  StepSettings step;
  TrainedKeys trained;

  TrainingPatterns patterns() const {
    return {step.options.frozen, trained.train, trained.batch_norms};
  }
};

Settings settings_for(const ModelRequest& request) {
  Settings settings;
  read_words_for(request,
                 joined({keys_of(settings.run), keys_of(settings.step), keys_of(settings.trained)}),
                 "keys of the run and of the step, MODEL.TRAIN and MODEL.TRAIN_BATCH_NORM");
  settings.step.options.forward_only = request.forward_only;
  return settings;
}

SourcedModel sourced(LoadedModel file, const RunSettings& run, int64_t batch_of_each) {
  SourcedModel model{std::move(file), run, {}};
  BatchShares& shares = model.shares;
  shares.replicas = model.model.replicas;
  for (const StepInput& input : model.model.inputs)
    shares.parts = std::max<int64_t>(shares.parts, input.part + 1);
  shares.batch = shares.replicas * batch_of_each;
  return model;
}

SourcedModel configured(const ModelRequest& request) {
  const std::vector<std::string>& words = request.settings;
  const ConfigFiles files = config_files(request.source);
  return explaining_unknown(files, words, [&] {
    SourcedModel source = task_kind_of(files, words).step({files, words}, request);
    source.configured = true;
    return source;
  });
}

SourcedModel step_of_network(const ModelRequest& request, int64_t batch) {
  const Settings settings = settings_for(request);
  const bool trains = !request.loss.empty();
  auto file = specialised(load_network(request.source), {});
  TrainingPatterns patterns = settings.patterns();
  if (!trains) patterns.frozen.clear();  // without a loss, frozen parameters are states, too
  const auto choose = trains ? choose_some_initializers : choose_initializers;
  const InitializerChoices choices = choose(*file, request.loss, patterns);
  ImportedOptions imported;
  imported.train_batch_norm = settings.trained.batch_norms;
  imported.trainable = choices.trained();
  DataParallelOptions options = options_of(settings.step, settings.run);
  if (trains) options.frozen.clear();  // frozen initializers are not parameters
  SourcedModel built =
      sourced({build_data_parallel_model(all_ops(), imported_model(file, request.loss, imported),
                                         MomentumSgd{}, options)},
              settings.run, batch);
  if (trains) built.notes = notes_on(*file, choices);
  return built;
}

SourcedModel step_in_file(const ModelRequest& request, int64_t batch) {
  RunSettings run{.devices = {}, .threads = 1};
  read_words_for(request, keys_of(run),
                 "keys of the run (DEVICES, AUX_DEVICES, THREADS, TF32, EXACT, RECORD)");
  return sourced(read_model(request.source), run, batch);
}

SourcedModel named_model(const ModelRequest& request, int64_t batch) {
  RunSettings run{.threads = 1};
  StepSettings step;
  bool bytes = false;
  read_words_for(request,
                 joined({keys_of(run), keys_of(step), {{"DATA.BYTES", &bytes, "images as bytes"}}}),
                 "keys of the run and of the step, and DATA.BYTES,");
  step.options.forward_only = request.forward_only;
  const ModelFn model = model_named(request.source, bytes ? published_for_bytes(request.source)
                                                          : published_options(request.source));
  SourcedModel built =
      sourced({build_data_parallel_model(all_ops(), model, MomentumSgd{}, options_of(step, run))},
              run, batch);
  built.network = request.source;
  return built;
}

}  // namespace

std::string initializers_of(const ModelRequest& request) {
  check(is_onnx(request.source), "--parameters shows the initializers of a network in FILE.onnx; '",
        request.source, "' is no FILE.onnx");
  const Settings settings = settings_for(request);
  LoadedModel loaded = load_network(request.source);
  const std::map<std::string, TensorType> types = types_of_initializers(loaded);
  const auto file = specialised(std::move(loaded), {});
  const std::string loss =
      request.loss.empty() ? only_float_output(file->model.inference) : request.loss;
  const InitializerChoices choices = choose_initializers(*file, loss, settings.patterns());
  std::string text = table_of(choices, types);
  for (const std::string& note : notes_on(*file, choices)) text += note + "\n";
  return text;
}

std::string configuration_of(const ModelRequest& request) {
  check(is_yaml(request.source), "--format config shows a CONFIG.yaml; '", request.source,
        "' is not a CONFIG.yaml");
  const ConfigFiles files = config_files(request.source);
  return task_kind_of(files, request.settings).yaml({files, request.settings});
}

void choose_passes(const ModelRequest& request, StepSettings& step) {
  if (request.forward_only) step.options = for_forward_only(step.options);
}

bool is_yaml(const std::string& path) {
  return ends_with(path, ".yaml") || ends_with(path, ".yml");
}
bool is_onnx(const std::string& path) { return ends_with(path, ".onnx"); }

SourcedModel model_from(const ModelRequest& request) {
  check(request.loss.empty() || is_onnx(request.source), "--loss is only for a FILE.onnx; '",
        request.source, "' has its own loss");
  if (is_yaml(request.source)) return configured(request);
  const int64_t batch = request.batch > 0 ? request.batch : kUsualBatch;
  const bool builds = !request.loss.empty() || request.forward_only;
  if (builds && is_onnx(request.source)) return step_of_network(request, batch);
  return is_onnx(request.source) ? step_in_file(request, batch) : named_model(request, batch);
}

}  // namespace lockstep
