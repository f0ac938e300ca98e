// SPDX-License-Identifier: Apache-2.0
#include "app/classification/config.h"
#include "app/classification/infer.h"
#include "app/classification/network.h"
#include "app/classification/scorer.h"
#include "app/classification/task.h"
#include "app/task_kind.h"
#include "app/train/resident_set.h"
#include "app/train/run_folder.h"
#include "lockstep/models.h"

namespace lockstep::classification_task {
namespace {

constexpr const char* kPage =
    "# Keys of a configuration\n\n"
    "`lockstep train CONFIG.yaml` reads these keys, and `KEY VALUE` pairs on the command line "
    "override them. `test`, `build`, `plan`\n"
    "and `inspect` accept the same keys. Keys follow Detectron; the last column gives "
    "Detectron's name where it differs. Some keys\n"
    "have an equivalent flag: `--wire float16` is `WIRE float16`. `lockstep keys` "
    "prints this list, `lockstep keys CLIP`\n"
    "prints the keys with CLIP in their name, and `lockstep keys --markdown` writes this "
    "page. Every run saves its configuration\n"
    "as `config.yaml`.\n\n"
    "`_BASE_: FILE` or `_BASE_: [FILE, FILE]` reads other files first, later ones over earlier "
    "ones "
    "and this file over all; paths are relative to\n"
    "the file that names them. A file is one YAML document that sets at least one key. No text of "
    "a "
    "configuration may hold a control\n"
    "character, such as a line feed or a tab: no key needs one.\n";

using Read = ReadBy<ClassificationConfig, read_config>;

std::unique_ptr<Task> task(const ConfigRequest& config) {
  return std::make_unique<ClassificationTask>(Read::config(config));
}

SourcedModel step(const ConfigRequest& request, const ModelRequest& wish) {
  ClassificationConfig config = Read::config(request);
  choose_passes(wish, config.step);
  if (wish.batch > 0) config.batch_size = wish.batch * config.replicas();
  std::vector<std::string> notes;
  return {{build_configured_model(config, 1, &notes)},
          config.run,
          shares_of(config, config.replicas()),
          config.onnx.empty() ? config.model : "",
          notes};
}

std::unique_ptr<Scorer> scorer(const ConfigRequest& config) {
  return classifier_scorer(without_resident(Read::config(config)));
}

int infer(InferSource source, const InferOptions& options) {
  if (source.model)
    return classify_pictures(classifier_of(std::move(*source.model), source.weights), options);
  const RunFiles files{source.weights, step_in(source.folder)};
  return classify_pictures(classifier_of(network_with_values(files), files), options);
}

WeightsOptions first_weights(const ConfigRequest& request, const std::string& path) {
  std::vector<std::string> words = request.words;
  words.insert(words.end(), {"MODEL.WEIGHTS", path});
  return weights_to_start_from(Read::config({request.files, words}));
}

std::string describe(TrainingModel& network, const RunFiles& files) {
  TrainedClassifier classifier = classifier_of(std::move(network), files);
  network = std::move(classifier.model);
  const TensorType& taken = network.inference.type(input_of(network.inference));
  return join(classifier.classes.size(), " classes, takes ", taken);
}

}  // namespace
}  // namespace lockstep::classification_task

namespace lockstep {

TaskKind classification_kind() {
  using namespace classification_task;
  return {.name = "classification",
          .network = "a classifier",
          .mark = "",
          .types = model_names(),
          .datasets = {},
          .page = kPage,
          .keys = Read::keys,
          .yaml = Read::yaml,
          .entries = Read::entries,
          .task = task,
          .step = step,
          .scorer = scorer,
          .infer_options = {"--top"},
          .no_infer = "",
          .infer = infer,
          .describe = describe,
          .first_weights = first_weights};
}

}  // namespace lockstep
