// SPDX-License-Identifier: Apache-2.0
#include "app/arrays/example_source.h"
#include "app/arrays/example_types.h"
#include "app/arrays/network_type.h"
#include "app/arrays/prediction.h"
#include "app/arrays/scorer.h"
#include "app/arrays/task.h"
#include "app/task_kind.h"
#include "app/train/resident_set.h"
#include "app/train/run_folder.h"
#include "graph/listed.h"

namespace lockstep::arrays_task {
namespace {

std::string page() {
  return join(
      "# Keys of a configuration for arrays\n\nA CONFIG.yaml whose `DATA.NAME` is ",
      listed_before(example_source_names(), " or "),
      " has these keys;\n"
      "[arrays](arrays.md) says how to use them.\n"
      "`train`, `test`, `build`, `plan` and `inspect` read the file, and `KEY VALUE` pairs on "
      "the command line override it.\n"
      "`lockstep keys --task arrays` prints this list, and with `--markdown` it writes this "
      "page.\n");
}

using Read = ReadBy<ArraysConfig, read_arrays_config>;

std::unique_ptr<Task> task(const ConfigRequest& config) {
  return std::make_unique<ArraysTask>(Read::config(config));
}

// Opens the examples, which determine the sizes of the network's inputs.
SourcedModel step(const ConfigRequest& request, const ModelRequest& wish) {
  ArraysConfig config = Read::config(request);
  choose_passes(wish, config.step);
  if (wish.batch > 0) config.batch_size = wish.batch * config.replicas();
  const ArraysNetwork network(config);
  check_names_of_arrays(config, network.fed_in_test());
  const auto set = open_examples(config, false, network.fed_in_training());
  TrainingModel model = std::move(network.steps(example_types(*set), 1).back());
  model.metadata.merge(arrays_metadata(config, *set));
  return {{std::move(model)},
          config.run,
          shares_of(config, config.replicas()),
          "",
          network.notes(example_types(*set).back())};
}

std::unique_ptr<Scorer> scorer(const ConfigRequest& config) {
  return arrays_scorer(without_resident(Read::config(config)));
}

int infer(InferSource source, const InferOptions& options) {
  if (!source.model) source.model = network_with_values({source.weights, step_in(source.folder)});
  const TrainedData data = trained_data_in(*source.model, options.source);
  return example_source(data.config).infer(*source.model, options.source, data, options);
}

std::string describe(TrainingModel& network, const RunFiles&) { return description_of(network); }

}  // namespace
}  // namespace lockstep::arrays_task

namespace lockstep {

TaskKind arrays_kind() {
  using namespace arrays_task;
  return {.name = "arrays",
          .network = "a network on arrays",
          .mark = kArraysMark,
          .types = network_type_names(),
          .datasets = example_source_names(),
          .page = page(),
          .keys = Read::keys,
          .yaml = Read::yaml,
          .entries = Read::entries,
          .task = task,
          .step = step,
          .scorer = scorer,
          .infer_options = {},
          .no_infer = "",
          .infer = infer,
          .describe = describe};
}

}  // namespace lockstep
