// SPDX-License-Identifier: Apache-2.0
#include "app/task_kind.h"
#include "app/text/corpus.h"
#include "app/text/infer.h"
#include "app/text/network.h"
#include "app/text/scorer.h"
#include "app/text/task.h"
#include "app/train/resident_set.h"
#include "app/train/run_folder.h"
#include "app/train/trained_network.h"
#include "lockstep/models.h"

namespace lockstep::text_task {
namespace {

constexpr const char* kPage =
    "# Keys of a language model's configuration\n\n"
    "A CONFIG.yaml whose `MODEL.TYPE` is char_lstm, char_gru or char_rnn has these keys; "
    "[text](text.md) says how to use them.\n"
    "`train`, `test`, `build`, `plan` and `inspect` read the file, and `KEY VALUE` pairs on the "
    "command line override it.\n"
    "`lockstep keys --task text` prints this list, and with `--markdown` it writes this page.\n";

using Read = ReadBy<TextConfig, read_text_config>;

std::unique_ptr<Task> task(const ConfigRequest& config) {
  return std::make_unique<TextTask>(Read::config(config));
}

// Reads the text, which determines the number of characters.
SourcedModel step(const ConfigRequest& request, const ModelRequest& wish) {
  TextConfig config = Read::config(request);
  choose_passes(wish, config.step);
  if (wish.batch > 0) config.batch_size = wish.batch * config.replicas();
  const TextCorpus corpus(config);
  TrainingModel model = build_language_step(config, corpus.vocabulary().size());
  model.metadata.merge(text_metadata(corpus.vocabulary().bytes()));
  return {{std::move(model)}, config.run, shares_of(config, config.replicas())};
}

std::unique_ptr<Scorer> scorer(const ConfigRequest& config) {
  return text_scorer(without_resident(Read::config(config)));
}

int infer(InferSource source, const InferOptions& options) {
  if (!source.model) source.model = network_with_values({source.weights, step_in(source.folder)});
  return continue_texts(std::move(*source.model), options.source, options);
}

std::string describe(TrainingModel& network, const RunFiles& files) {
  return join(vocabulary_in(network, files.step).size(), " characters");
}

}  // namespace
}  // namespace lockstep::text_task

namespace lockstep {

TaskKind text_kind() {
  using namespace text_task;
  return {.name = "text",
          .network = "a language model",
          .mark = "vocabulary",
          .types = language_model_names(),
          .datasets = {},
          .page = kPage,
          .keys = Read::keys,
          .yaml = Read::yaml,
          .entries = Read::entries,
          .task = task,
          .step = step,
          .scorer = scorer,
          .infer_options = {"--length", "--temperature", "--seed"},
          .no_infer = "",
          .infer = infer,
          .describe = describe};
}

}  // namespace lockstep
