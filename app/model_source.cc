// SPDX-License-Identifier: Apache-2.0
#include "app/model_source.h"

#include <algorithm>

#include "app/classification/config.h"
#include "app/classification/network.h"
#include "app/config/read.h"
#include "app/control/control_task.h"
#include "app/detection/detector_source.h"
#include "app/detection/types.h"
#include "app/onnx/network_file.h"
#include "app/tasks.h"
#include "app/text/corpus.h"
#include "app/text/network.h"
#include "app/text/types.h"
#include "builders/net/imported.h"
#include "builders/optimizers/momentum_sgd.h"
#include "builders/step/forward.h"
#include "models/models.h"
#include "operators/all.h"

namespace lockstep {
namespace {

bool ends_with(const std::string& text, std::string_view end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

constexpr int64_t kUsualBatch = 32;  // images per replica

// Keys that have no meaning for a source are not reported as misspelt; the error says so.
void read_words_for(const ModelRequest& request, ConfigKeys keys, const char* takes) {
  ClassificationConfig config;
  ConfigKeys all = keys_of(config);
  for (std::size_t i = 0; i < request.settings.size(); i += 2)
    if (const ConfigKey* known = find_key(all, request.settings[i]))
      check(find_key(keys, known->key), "command line: ", known->key, " does not apply to ",
            request.source, ", which takes ", takes, " only; a CONFIG.yaml takes all keys");
  read_words(keys, request.settings);
}

struct Settings {
  RunSettings run{.threads = 1};
  StepSettings step;
};

Settings settings_for(const ModelRequest& request) {
  Settings settings;
  read_words_for(request, joined({keys_of(settings.run), keys_of(settings.step)}),
                 "keys of the run and of the step");
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

// A configuration says how its run trains; its forward pass takes what it can of that.
void choose_passes(const ModelRequest& request, StepSettings& step) {
  if (request.forward_only) step.options = for_forward_only(step.options);
}

// The text decides how many characters there are.
SourcedModel language_source(const ModelRequest& request, const ConfigFiles& files,
                             const std::vector<std::string>& words) {
  Origins origins;
  TextConfig config = read_text_config(files, words, 1, origins);
  choose_passes(request, config.step);
  if (request.batch > 0) config.batch_size = request.batch * config.replicas();
  const TextCorpus corpus(config);
  TrainingModel model = build_language_step(config, corpus.vocabulary().size());
  model.metadata.merge(text_metadata(corpus.vocabulary().bytes()));
  return {{std::move(model)}, config.run, shares_of(config, config.replicas())};
}

SourcedModel read_source(const ModelRequest& request, const ConfigFiles& files,
                         std::vector<std::string> words) {
  if (is_detector(files, words)) {
    if (request.batch > 0)
      words.insert(words.end(), {"TRAIN.IMS_PER_BATCH", std::to_string(request.batch)});
    DetectorConfig config = read_detector_config(files, words);
    choose_passes(request, config.step);
    return detector_from(config);
  }
  Origins origins;
  if (is_language_model(files, words)) return language_source(request, files, words);
  if (is_control(files, words)) {
    if (request.batch > 0)
      words.insert(words.end(), {"TRAIN.BATCH_SIZE", std::to_string(request.batch)});
    ControlConfig config = read_control_config(files, words, 1, origins);
    choose_passes(request, config.step);
    return {{build_control_model(config)}, config.run, {config.batch_size, config.replicas(), 1}};
  }
  ClassificationConfig config = read_config(files, words, 1, origins);
  choose_passes(request, config.step);
  if (request.batch > 0) config.batch_size = request.batch * config.replicas();
  return {{build_configured_model(config)},
          config.run,
          shares_of(config, config.replicas()),
          config.onnx.empty() ? config.model : ""};
}

SourcedModel configured(const ModelRequest& request) {
  std::vector<std::string> words = request.settings;
  if (request.train_batch_norm) words.insert(words.end(), {"MODEL.TRAIN_BATCH_NORM", "true"});
  const ConfigFiles files = config_files(request.source);
  return explaining_unknown(files, words, [&] { return read_source(request, files, words); });
}

SourcedModel step_of_network(const ModelRequest& request, int64_t batch) {
  const auto [run, step] = settings_for(request);
  auto file = specialised(load_network(request.source), {});
  ImportedOptions imported;
  imported.train_batch_norm = request.train_batch_norm;
  imported.trainable = request.loss.empty()
                           ? float_initializers(*file)
                           : check_some_trainable(*file, request.loss, step.options.frozen);
  DataParallelOptions options = options_of(step, run);
  if (!request.loss.empty()) options.frozen.clear();  // frozen ones are not parameters at all
  return sourced({build_data_parallel_model(all_ops(), imported_model(file, request.loss, imported),
                                            MomentumSgd{}, options)},
                 run, batch);
}

SourcedModel step_in_file(const ModelRequest& request, int64_t batch) {
  RunSettings run{.devices = {}, .threads = 1};
  read_words_for(request, keys_of(run),
                 "keys of the run (DEVICES, AUX_DEVICES, THREADS, TF32, EXACT)");
  return sourced(load_model(all_ops(), request.source), run, batch);
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

std::string configuration_of(const ModelRequest& request) {
  check(is_yaml(request.source), "--format config shows a CONFIG.yaml; '", request.source,
        "' is none");
  const ConfigFiles files = config_files(request.source);
  if (is_detector(files, request.settings)) {
    DetectorConfig config = read_detector_config(files, request.settings);
    const Origins origins = config.origins;
    std::string notes;
    for (const DetectorNote& note : config.notes) notes += "# " + note.text + "\n";
    return notes + yaml_with_origins(keys_of(config), origins);
  }
  Origins origins;
  if (is_language_model(files, request.settings)) {
    TextConfig config = read_text_config(files, request.settings, 1, origins);
    return yaml_with_origins(keys_of(config), origins);
  }
  if (is_control(files, request.settings)) {
    ControlConfig config = read_control_config(files, request.settings, 1, origins);
    return yaml_with_origins(keys_of(config), origins);
  }
  ClassificationConfig config = read_config(files, request.settings, 1, origins);
  return yaml_with_origins(keys_of(config), origins);
}

bool is_yaml(const std::string& path) {
  return ends_with(path, ".yaml") || ends_with(path, ".yml");
}
bool is_onnx(const std::string& path) { return ends_with(path, ".onnx"); }

SourcedModel model_from(const ModelRequest& request) {
  check(request.loss.empty() || is_onnx(request.source), "--loss is only for a FILE.onnx; '",
        request.source, "' has its own loss");
  check(!request.train_batch_norm || is_yaml(request.source) || !request.loss.empty(),
        "--train-batch-norm is for a network in FILE.onnx with its --loss, or a CONFIG.yaml; '",
        request.source, "' is neither");
  if (is_yaml(request.source)) return configured(request);
  const int64_t batch = request.batch > 0 ? request.batch : kUsualBatch;
  const bool builds = !request.loss.empty() || request.forward_only;
  if (builds && is_onnx(request.source)) return step_of_network(request, batch);
  return is_onnx(request.source) ? step_in_file(request, batch) : named_model(request, batch);
}

}  // namespace lockstep
